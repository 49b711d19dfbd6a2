# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops of layouts: the forces of t-SNE and the epochs of UMAP.

Repulsion is computed on a grid (grid.pxi) or, for few points that are far apart, with a Barnes-Hut
tree (Barnes and Hut, 1986), whose distant nodes act like one point at their center of mass. All
loops run without the GIL. `kernels_python` has the same functions in NumPy.
"""

from libc.math cimport powf
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, realloc

cdef extern from "repulsion.h":
    enum:
        MAX_SAMPLES

    void tl_repel(
        const double *layout, int dimensions, const int32_t *points, int count,
        const double *position, float a, float b, double *moved
    ) nogil

#: At this depth, the points of a node are so close that they count as one.
cdef enum:
    MAX_DEPTH = 48
    STACK_SIZE = 7 * 48 + 8

cdef struct Node:
    double center[3]
    double width
    int64_t mass
    int32_t children  # index of the first child; -1 for a leaf
    int32_t point  # the only point of a leaf, or -1


cdef class BarnesHutTree:
    """A quadtree or octree of the points of a layout, which must not change while it is used."""

    cdef Node *nodes
    cdef int64_t used, capacity
    cdef const double[:, ::1] layout
    cdef int dimensions, branches
    cdef double low[3]
    cdef double width

    def __cinit__(self, const double[:, ::1] layout):
        cdef int64_t i
        cdef int axis
        cdef double high
        cdef bint is_complete = True
        if layout.shape[1] not in (2, 3) or layout.shape[0] > 1 << 30:
            raise ValueError("a layout must have two or three dimensions")
        self.layout = layout
        self.dimensions = <int>layout.shape[1]
        self.branches = 1 << self.dimensions
        with nogil:
            for axis in range(self.dimensions):
                self.low[axis] = high = layout[0, axis] if layout.shape[0] else 0
                for i in range(layout.shape[0]):
                    self.low[axis] = min(self.low[axis], layout[i, axis])
                    high = max(high, layout[i, axis])
                self.width = max(self.width, high - self.low[axis])
            is_complete = self.add_nodes(1, self.width) >= 0
            i = 0
            while is_complete and i < layout.shape[0]:
                is_complete = self.insert(<int32_t>i)
                i += 1
            if is_complete:
                self.compute_centers()
        if not is_complete:
            raise MemoryError("out of memory")

    def __dealloc__(self):
        free(self.nodes)

    cdef int64_t add_nodes(self, int count, double width) noexcept nogil:
        """Append empty nodes and return the index of the first; -1 if out of memory."""
        cdef Node *grown
        cdef int64_t first = self.used, index
        if self.used + count > self.capacity:
            self.capacity = max(2 * self.capacity, 4 * self.layout.shape[0] + 64)
            grown = <Node *>realloc(self.nodes, self.capacity * sizeof(Node))
            if grown == NULL or self.capacity > 1 << 30:
                return -1
            self.nodes = grown
        for index in range(first, first + count):
            self.nodes[index].mass = 0
            self.nodes[index].children = -1
            self.nodes[index].point = -1
            self.nodes[index].width = width
            for axis in range(3):
                self.nodes[index].center[axis] = 0
        self.used += count
        return first

    cdef bint insert(self, int32_t point) noexcept nogil:
        cdef int64_t index = 0, first
        cdef int depth, axis
        cdef double corner[3]
        cdef double width = self.width
        cdef int32_t other
        for axis in range(self.dimensions):
            corner[axis] = self.low[axis]
        for depth in range(MAX_DEPTH):
            self.add_point(index, point)
            if self.nodes[index].mass == 1:
                self.nodes[index].point = point
                return True
            width /= 2
            if self.nodes[index].children < 0:
                if depth == MAX_DEPTH - 1:
                    return True
                first = self.add_nodes(self.branches, width)
                if first < 0:
                    return False
                self.nodes[index].children = <int32_t>first
                other = self.nodes[index].point
                first += self.get_branch(other, corner, width, False)
                self.add_point(first, other)
                self.nodes[first].point = other
            index = self.nodes[index].children + self.get_branch(point, corner, width, True)
        return True

    cdef inline void add_point(self, int64_t index, int32_t point) noexcept nogil:
        cdef int axis
        self.nodes[index].mass += 1
        for axis in range(self.dimensions):
            self.nodes[index].center[axis] += self.layout[point, axis]

    cdef inline int get_branch(
        self, int32_t point, double *corner, double width, bint descend
    ) noexcept nogil:
        """Return the child that a point belongs to; with ``descend``, move ``corner`` to it."""
        cdef int axis, branch = 0
        for axis in range(self.dimensions):
            if self.layout[point, axis] >= corner[axis] + width:
                branch |= 1 << axis
                if descend:
                    corner[axis] += width
        return branch

    cdef void compute_centers(self) noexcept nogil:
        cdef int64_t index
        cdef int axis
        for index in range(self.used):
            for axis in range(self.dimensions):
                if self.nodes[index].mass:
                    self.nodes[index].center[axis] /= self.nodes[index].mass

    def compute_repulsion(self, int64_t begin, int64_t end, double theta, double[:, ::1] forces):
        """Fill the unnormalized forces on a range of points; return its part of the normalization."""
        cdef int64_t i
        cdef double total = 0, theta2 = theta * theta
        if not 0 <= begin <= end <= min(self.layout.shape[0], forces.shape[0]):
            raise ValueError("the range is outside of the layout")
        if forces.shape[1] != self.dimensions:
            raise ValueError("forces must have the shape of the layout")
        with nogil:
            for i in range(begin, end):
                if self.dimensions == 2:
                    total += repel_point(self.nodes, &self.layout[0, 0], i, theta2, 2, &forces[i, 0])
                else:
                    total += repel_point(self.nodes, &self.layout[0, 0], i, theta2, 3, &forces[i, 0])
        return total


cdef inline double repel_point(
    const Node *nodes, const double *layout, int64_t i, double theta2, int dimensions, double *force
) noexcept nogil:
    """Compute the force on one point. It is inlined with a constant number of dimensions."""
    cdef double square, potential, weight, total = 0
    cdef double difference[3]
    cdef double total_force[3]
    cdef int32_t stack[STACK_SIZE]
    cdef int top = 1, branch, axis
    cdef const Node *node
    stack[0] = 0
    total_force[0] = total_force[1] = total_force[2] = 0
    while top:
        top -= 1
        node = &nodes[stack[top]]
        if node.mass == 0 or node.point == i and node.mass == 1:
            continue
        square = 0
        for axis in range(dimensions):
            difference[axis] = layout[i * dimensions + axis] - node.center[axis]
            square += difference[axis] * difference[axis]
        if node.children < 0 or node.width * node.width < theta2 * square:
            potential = 1 / (1 + square)
            weight = potential * (node.mass - (square == 0 and node.mass > 1))
            total += weight
            weight *= potential
            for axis in range(dimensions):
                total_force[axis] += weight * difference[axis]
        else:
            for branch in range(1 << dimensions):
                stack[top] = node.children + branch
                top += 1
    for axis in range(dimensions):
        force[axis] = total_force[axis]
    return total


include "grid.pxi"


def compute_attraction(
    const double[:, ::1] layout,
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] weights,
    int64_t begin,
    int64_t end,
    double[:, ::1] forces,
):
    """Fill the attractive forces on a range of points. Affinities are in CSR form."""
    cdef int64_t i
    cdef int dimensions = <int>layout.shape[1]
    if dimensions not in (2, 3) or forces.shape[1] != dimensions:
        raise ValueError("a layout must have two or three dimensions")
    if not 0 <= begin <= end <= min(layout.shape[0], forces.shape[0], indptr.shape[0] - 1):
        raise ValueError("the range is outside of the layout")
    if indptr[end] > min(indices.shape[0], weights.shape[0]) or indptr[begin] < 0:
        raise ValueError("indptr points outside of the indices")
    if indptr[begin] == indptr[end]:
        forces[begin:end] = 0
        return
    with nogil:
        for i in range(begin, end):
            if dimensions == 2:
                attract_point(
                    &layout[0, 0], i, indptr[i], indptr[i + 1], &indices[0], &weights[0], 2, &forces[i, 0]
                )
            else:
                attract_point(
                    &layout[0, 0], i, indptr[i], indptr[i + 1], &indices[0], &weights[0], 3, &forces[i, 0]
                )


cdef inline void attract_point(
    const double *layout,
    int64_t i,
    int64_t begin,
    int64_t end,
    const int32_t *indices,
    const float *weights,
    int dimensions,
    double *force,
) noexcept nogil:
    """Compute the force on one point. It is inlined with a constant number of dimensions."""
    cdef int64_t pair
    cdef int axis
    cdef double square, weight
    cdef double difference[3]
    cdef double total_force[3]
    total_force[0] = total_force[1] = total_force[2] = 0
    for pair in range(begin, end):
        square = 0
        for axis in range(dimensions):
            difference[axis] = layout[i * dimensions + axis] - layout[indices[pair] * dimensions + axis]
            square += difference[axis] * difference[axis]
        weight = weights[pair] / (1 + square)
        for axis in range(dimensions):
            total_force[axis] += weight * difference[axis]
    for axis in range(dimensions):
        force[axis] = total_force[axis]


cdef inline uint64_t next_random(uint64_t *state) noexcept nogil:
    """Return a random number (xorshift64*)."""
    state[0] ^= state[0] >> 12
    state[0] ^= state[0] << 25
    state[0] ^= state[0] >> 27
    return state[0] * <uint64_t>2685821657736338717


cdef inline double clip(double value) noexcept nogil:
    return 4 if value > 4 else (-4 if value < -4 else value)


def run_umap_epoch(
    double[:, ::1] layout,
    const int32_t[::1] heads,
    const int32_t[::1] tails,
    const double[::1] periods,
    double[::1] next_epochs,
    double epoch,
    double rate,
    double a,
    double b,
    int negative_samples,
    uint64_t[::1] random_state,
):
    """Run one epoch: attract the edges that are due, and repel random negative samples.

    Same arguments as `kernels_python.run_umap_epoch`.
    """
    cdef int64_t pair, points = layout.shape[0]
    cdef int32_t head, tail
    cdef int axis, index, sample, count, dimensions = <int>layout.shape[1]
    cdef double square, power, force, step
    cdef int32_t samples[MAX_SAMPLES]
    cdef double position[3]
    cdef double moved[3]
    if min(heads.shape[0], tails.shape[0], periods.shape[0], next_epochs.shape[0]) != heads.shape[0]:
        raise ValueError("columns of edges must have the same length")
    if random_state.shape[0] != 1 or not random_state[0] or not 0 < points < 1 << 31:
        raise ValueError("the random state must not be 0, and there must be points")
    if dimensions > 3:
        raise ValueError("layouts have two or three dimensions")
    with nogil:
        for pair in range(heads.shape[0]):
            if next_epochs[pair] > epoch:
                continue
            next_epochs[pair] += periods[pair]
            head, tail = heads[pair], tails[pair]
            square = 0
            for axis in range(dimensions):
                square += (layout[head, axis] - layout[tail, axis]) ** 2
            if square > 0:
                power = a * powf(<float>square, <float>b)
                force = -2 * b * power / (square * (1 + power))
                for axis in range(dimensions):
                    step = rate * clip(force * (layout[head, axis] - layout[tail, axis]))
                    layout[head, axis] += step
                    layout[tail, axis] -= step
            for axis in range(dimensions):
                position[axis] = layout[head, axis]
                moved[axis] = 0
            sample = 0
            while sample < negative_samples:
                count = min(negative_samples - sample, MAX_SAMPLES)
                for index in range(count):
                    samples[index] = <int32_t>(
                        (next_random(&random_state[0]) >> 32) * <uint64_t>points >> 32
                    )
                tl_repel(&layout[0, 0], dimensions, samples, count, position, a, b, moved)
                sample += count
            for axis in range(dimensions):
                layout[head, axis] += rate * moved[axis]
