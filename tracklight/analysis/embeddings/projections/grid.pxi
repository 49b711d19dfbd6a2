"""Spread points to the nodes of a grid by cubic B-splines, and interpolate a field at points.

Included by _forces.pyx.
"""

cdef inline int64_t compute_spline(
    double position, int64_t nodes, double *weights, double *slopes
) noexcept nogil:
    """Fill the weights of the four nodes around a position and their derivatives.

    Return the first of these nodes.
    """
    cdef double u, v
    cdef int64_t cell
    position = position if position > 0 else 0  # also for NaN
    cell = <int64_t>min(position, <double>(nodes - 4))
    u = position - cell
    v = 1 - u
    weights[0], weights[3] = v * v * v / 6, u * u * u / 6
    weights[1], weights[2] = 2.0 / 3 - u * u * (2 - u) / 2, 2.0 / 3 - v * v * (2 - v) / 2
    slopes[0], slopes[3] = -v * v / 2, u * u / 2
    slopes[1], slopes[2] = u * (3 * u - 4) / 2, v * (4 - 3 * v) / 2
    return cell


def check_grid(layout, int64_t nodes, const double[::1] origin, const double[::1] field):
    """Raise ValueError if the grid does not fit the layout."""
    dimensions = layout.shape[1]
    if dimensions not in (2, 3) or origin.shape[0] != dimensions:
        raise ValueError("a layout must have two or three dimensions")
    if not 4 <= nodes <= 1 << 20 or field.shape[0] != nodes**dimensions:
        raise ValueError("the field must have the same number of nodes along each side")


def spread_points(
    const double[:, ::1] layout,
    int64_t nodes,
    double spacing,
    const double[::1] origin,
    double[::1] field,
):
    """Add the weights of all points to the nodes around them."""
    cdef int64_t point, node, row
    cdef int axis, dimensions = <int>layout.shape[1]
    cdef int i, j, k
    cdef int64_t cells[3]
    cdef double weights[3][4]
    cdef double slopes[4]
    check_grid(layout, nodes, origin, field)
    with nogil:
        for point in range(layout.shape[0]):
            for axis in range(dimensions):
                cells[axis] = compute_spline(
                    (layout[point, axis] - origin[axis]) / spacing, nodes, weights[axis], slopes
                )
            for i in range(4):
                row = (cells[0] + i) * nodes + cells[1]
                for j in range(4):
                    if dimensions == 2:
                        field[row + j] += weights[0][i] * weights[1][j]
                        continue
                    node = (row + j) * nodes + cells[2]
                    for k in range(4):
                        field[node + k] += weights[0][i] * weights[1][j] * weights[2][k]


def interpolate_forces(
    const double[:, ::1] layout,
    int64_t nodes,
    double spacing,
    const double[::1] origin,
    const double[::1] potential,
    double[:, ::1] forces,
):
    """Fill the forces on all points, and return the sum of the potential at the points."""
    cdef int64_t point
    cdef int axis, dimensions = <int>layout.shape[1]
    cdef double total = 0
    cdef double values[4]
    check_grid(layout, nodes, origin, potential)
    if forces.shape[0] != layout.shape[0] or forces.shape[1] != dimensions:
        raise ValueError("forces must have the shape of the layout")
    with nogil:
        for point in range(layout.shape[0]):
            interpolate(
                &layout[point, 0], dimensions, nodes, spacing, &origin[0], &potential[0], values
            )
            total += values[3]
            for axis in range(dimensions):
                # The force is half of the negative gradient of 1 / (1 + d²).
                forces[point, axis] = values[axis] / (-2 * spacing)
    return total


cdef inline void interpolate(
    const double *point,
    int dimensions,
    int64_t nodes,
    double spacing,
    const double *origin,
    const double *potential,
    double *values,
) noexcept nogil:
    """Fill the gradient of the potential at a point, and the potential itself as fourth value."""
    cdef int axis, i, j, k
    cdef int64_t row, node
    cdef int64_t cells[3]
    cdef double weights[3][4]
    cdef double slopes[3][4]
    cdef double line, slope, area
    values[0] = values[1] = values[2] = values[3] = 0
    for axis in range(dimensions):
        cells[axis] = compute_spline(
            (point[axis] - origin[axis]) / spacing, nodes, weights[axis], slopes[axis]
        )
    for i in range(4):
        row = (cells[0] + i) * nodes + cells[1]
        for j in range(4):
            if dimensions == 2:
                line, slope = potential[row + j], 0
            else:
                node = (row + j) * nodes + cells[2]
                line = slope = 0
                for k in range(4):
                    line += potential[node + k] * weights[2][k]
                    slope += potential[node + k] * slopes[2][k]
            area = weights[0][i] * weights[1][j]
            values[0] += line * slopes[0][i] * weights[1][j]
            values[1] += line * weights[0][i] * slopes[1][j]
            values[2] += slope * area
            values[3] += line * area
