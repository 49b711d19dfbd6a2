"""Points on a grid: what they add to its nodes through splines, and what they feel there.

Included by _forces.pyx.
"""

cdef inline int64_t lay(double along, int64_t nodes, double *shares, double *slopes) noexcept nogil:
    """The first of the four nodes around a place, what each counts there, and how that changes."""
    cdef double u, v
    cdef int64_t cell
    along = along if along > 0 else 0  # as of one that is nowhere
    cell = <int64_t>min(along, <double>(nodes - 4))
    u = along - cell
    v = 1 - u
    shares[0], shares[3] = v * v * v / 6, u * u * u / 6
    shares[1], shares[2] = 2.0 / 3 - u * u * (2 - u) / 2, 2.0 / 3 - v * v * (2 - v) / 2
    slopes[0], slopes[3] = -v * v / 2, u * u / 2
    slopes[1], slopes[2] = u * (3 * u - 4) / 2, v * (4 - 3 * v) / 2
    return cell


def check_grid(layout, int64_t nodes, const double[::1] origin, const double[::1] field):
    """Raise ValueError where a grid is not one for this layout."""
    dimensions = layout.shape[1]
    if dimensions not in (2, 3) or origin.shape[0] != dimensions:
        raise ValueError("a layout has two or three dimensions")
    if not 4 <= nodes <= 1 << 20 or field.shape[0] != nodes**dimensions:
        raise ValueError("a grid has as many nodes along each side")


def spread(
    const double[:, ::1] layout,
    int64_t nodes,
    double step,
    const double[::1] origin,
    double[::1] field,
):
    """Add all points to the nodes around them."""
    cdef int64_t i, place, row
    cdef int axis, dimensions = <int>layout.shape[1]
    cdef int right, down, deep
    cdef int64_t cells[3]
    cdef double shares[3][4]
    cdef double slopes[4]
    check_grid(layout, nodes, origin, field)
    with nogil:
        for i in range(layout.shape[0]):
            for axis in range(dimensions):
                cells[axis] = lay((layout[i, axis] - origin[axis]) / step, nodes, shares[axis], slopes)
            for right in range(4):
                row = (cells[0] + right) * nodes + cells[1]
                for down in range(4):
                    if dimensions == 2:
                        field[row + down] += shares[0][right] * shares[1][down]
                        continue
                    place = (row + down) * nodes + cells[2]
                    for deep in range(4):
                        field[place + deep] += shares[0][right] * shares[1][down] * shares[2][deep]


def read(
    const double[:, ::1] layout,
    int64_t nodes,
    double step,
    const double[::1] origin,
    const double[::1] potential,
    double[:, ::1] forces,
):
    """Fill the forces on all points, and give the sum of what they feel."""
    cdef int64_t i
    cdef int axis, dimensions = <int>layout.shape[1]
    cdef double total = 0
    cdef double felt[4]
    check_grid(layout, nodes, origin, potential)
    if forces.shape[0] != layout.shape[0] or forces.shape[1] != dimensions:
        raise ValueError("forces have as many dimensions as the layout")
    with nogil:
        for i in range(layout.shape[0]):
            feel(&layout[i, 0], dimensions, nodes, step, &origin[0], &potential[0], felt)
            total += felt[3]
            for axis in range(dimensions):
                # Down the slope; that of 1 / (1 + d²) is twice the force.
                forces[i, axis] = felt[axis] / (-2 * step)
    return total


cdef inline void feel(
    const double *point,
    int dimensions,
    int64_t nodes,
    double step,
    const double *origin,
    const double *potential,
    double *felt,
) noexcept nogil:
    """The slopes at a place by axis, and as the fourth the potential itself."""
    cdef int axis, right, down, deep
    cdef int64_t row, place
    cdef int64_t cells[3]
    cdef double shares[3][4]
    cdef double slopes[3][4]
    cdef double line, leaning, area
    felt[0] = felt[1] = felt[2] = felt[3] = 0
    for axis in range(dimensions):
        cells[axis] = lay((point[axis] - origin[axis]) / step, nodes, shares[axis], slopes[axis])
    for right in range(4):
        row = (cells[0] + right) * nodes + cells[1]
        for down in range(4):
            if dimensions == 2:
                line, leaning = potential[row + down], 0
            else:
                place = (row + down) * nodes + cells[2]
                line = leaning = 0
                for deep in range(4):
                    line += potential[place + deep] * shares[2][deep]
                    leaning += potential[place + deep] * slopes[2][deep]
            area = shares[0][right] * shares[1][down]
            felt[0] += line * slopes[0][right] * shares[1][down]
            felt[1] += line * shares[0][right] * slopes[1][down]
            felt[2] += leaning * area
            felt[3] += line * area
