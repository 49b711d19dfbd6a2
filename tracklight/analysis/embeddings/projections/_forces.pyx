# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What moves points: the two forces of t-SNE, and the steps of UMAP.

Points push each other by way of a grid, as `repulsion` tells. Of few that are far apart, those far
away push like one in their middle, so they are gathered in a tree whose nodes are halved along
every axis (Barnes and Hut, 1986). All loops run without the interpreter's lock.
"""

from libc.math cimport powf
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, realloc

#: Beyond this, points are so close that they count as one.
cdef enum:
    DEEPEST = 48
    STACK = 7 * 48 + 8

cdef struct Node:
    double middle[3]
    double width
    int64_t mass
    int32_t children  # the first of them; -1 for none
    int32_t point  # of a node with only one


cdef class Tree:
    """All points of a layout [n, 2 or 3], which must not change for as long as this is asked."""

    cdef Node *nodes
    cdef int64_t used, room
    cdef const double[:, ::1] layout
    cdef int dimensions, branches
    cdef double low[3]
    cdef double width

    def __cinit__(self, const double[:, ::1] layout):
        cdef int64_t i
        cdef int axis
        cdef double high
        cdef bint is_whole = True
        if layout.shape[1] not in (2, 3) or layout.shape[0] > 1 << 30:
            raise ValueError("a layout has two or three dimensions")
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
            is_whole = self.add_branches(1, self.width) >= 0
            i = 0
            while is_whole and i < layout.shape[0]:
                is_whole = self.insert(<int32_t>i)
                i += 1
            if is_whole:
                self.find_middles()
        if not is_whole:
            raise MemoryError("no memory for a tree of points")

    def __dealloc__(self):
        free(self.nodes)

    cdef int64_t add_branches(self, int count, double width) noexcept nogil:
        """Append empty nodes and give the place of the first; -1 where there is no memory."""
        cdef Node *grown
        cdef int64_t first = self.used, place
        if self.used + count > self.room:
            self.room = max(2 * self.room, 4 * self.layout.shape[0] + 64)
            grown = <Node *>realloc(self.nodes, self.room * sizeof(Node))
            if grown == NULL or self.room > 1 << 30:
                return -1
            self.nodes = grown
        for place in range(first, first + count):
            self.nodes[place].mass = 0
            self.nodes[place].children = -1
            self.nodes[place].point = -1
            self.nodes[place].width = width
            for axis in range(3):
                self.nodes[place].middle[axis] = 0
        self.used += count
        return first

    cdef bint insert(self, int32_t point) noexcept nogil:
        cdef int64_t place = 0, first
        cdef int depth, axis
        cdef double corner[3]
        cdef double width = self.width
        cdef int32_t other
        for axis in range(self.dimensions):
            corner[axis] = self.low[axis]
        for depth in range(DEEPEST):
            self.put(place, point)
            if self.nodes[place].mass == 1:
                self.nodes[place].point = point
                return True
            width /= 2
            if self.nodes[place].children < 0:
                if depth == DEEPEST - 1:
                    return True
                first = self.add_branches(self.branches, width)
                if first < 0:
                    return False
                self.nodes[place].children = <int32_t>first
                other = self.nodes[place].point
                first += self.choose(other, corner, width, False)
                self.put(first, other)
                self.nodes[first].point = other
            place = self.nodes[place].children + self.choose(point, corner, width, True)
        return True

    cdef inline void put(self, int64_t place, int32_t point) noexcept nogil:
        cdef int axis
        self.nodes[place].mass += 1
        for axis in range(self.dimensions):
            self.nodes[place].middle[axis] += self.layout[point, axis]

    cdef inline int choose(self, int32_t point, double *corner, double width, bint descend) noexcept nogil:
        """The branch that a point belongs to; ``corner`` goes along where one descends."""
        cdef int axis, branch = 0
        for axis in range(self.dimensions):
            if self.layout[point, axis] >= corner[axis] + width:
                branch |= 1 << axis
                if descend:
                    corner[axis] += width
        return branch

    cdef void find_middles(self) noexcept nogil:
        cdef int64_t place
        cdef int axis
        for place in range(self.used):
            for axis in range(self.dimensions):
                if self.nodes[place].mass:
                    self.nodes[place].middle[axis] /= self.nodes[place].mass

    def repel(self, int64_t begin, int64_t end, double angle, double[:, ::1] forces):
        """Fill the forces on some points, and give their part of the sum that divides them."""
        cdef int64_t i
        cdef double total = 0, angle2 = angle * angle
        if not 0 <= begin <= end <= min(self.layout.shape[0], forces.shape[0]):
            raise ValueError("no such points")
        if forces.shape[1] != self.dimensions:
            raise ValueError("forces have as many dimensions as the layout")
        with nogil:
            for i in range(begin, end):
                if self.dimensions == 2:
                    total += push(self.nodes, &self.layout[0, 0], i, angle2, 2, &forces[i, 0])
                else:
                    total += push(self.nodes, &self.layout[0, 0], i, angle2, 3, &forces[i, 0])
        return total


cdef inline double push(
    const Node *nodes, const double *layout, int64_t i, double angle2, int dimensions, double *force
) noexcept nogil:
    """The force on one point; ``dimensions`` is a constant wherever this is put in."""
    cdef double square, near, weight, total = 0
    cdef double apart[3]
    cdef double pushed[3]
    cdef int32_t stack[STACK]
    cdef int top = 1, branch, axis
    cdef const Node *node
    stack[0] = 0
    pushed[0] = pushed[1] = pushed[2] = 0
    while top:
        top -= 1
        node = &nodes[stack[top]]
        if node.mass == 0 or node.point == i and node.mass == 1:
            continue
        square = 0
        for axis in range(dimensions):
            apart[axis] = layout[i * dimensions + axis] - node.middle[axis]
            square += apart[axis] * apart[axis]
        if node.children < 0 or node.width * node.width < angle2 * square:
            near = 1 / (1 + square)
            weight = near * (node.mass - (square == 0 and node.mass > 1))
            total += weight
            weight *= near
            for axis in range(dimensions):
                pushed[axis] += weight * apart[axis]
        else:
            for branch in range(1 << dimensions):
                stack[top] = node.children + branch
                top += 1
    for axis in range(dimensions):
        force[axis] = pushed[axis]
    return total


include "grid.pxi"


def attract(
    const double[:, ::1] layout,
    const int64_t[::1] starts,
    const int32_t[::1] others,
    const float[::1] weights,
    int64_t begin,
    int64_t end,
    double[:, ::1] forces,
):
    """Fill the forces that draw some points to those they care for."""
    cdef int64_t i
    cdef int dimensions = <int>layout.shape[1]
    if dimensions not in (2, 3) or forces.shape[1] != dimensions:
        raise ValueError("a layout has two or three dimensions")
    if not 0 <= begin <= end <= min(layout.shape[0], forces.shape[0], starts.shape[0] - 1):
        raise ValueError("no such points")
    if starts[end] > min(others.shape[0], weights.shape[0]) or starts[begin] < 0:
        raise ValueError("pairs that are not there")
    if starts[begin] == starts[end]:
        forces[begin:end] = 0
        return
    with nogil:
        for i in range(begin, end):
            if dimensions == 2:
                pull(&layout[0, 0], i, starts[i], starts[i + 1], &others[0], &weights[0], 2, &forces[i, 0])
            else:
                pull(&layout[0, 0], i, starts[i], starts[i + 1], &others[0], &weights[0], 3, &forces[i, 0])


cdef inline void pull(
    const double *layout,
    int64_t i,
    int64_t begin,
    int64_t end,
    const int32_t *others,
    const float *weights,
    int dimensions,
    double *force,
) noexcept nogil:
    """The force on one point; ``dimensions`` is a constant wherever this is put in."""
    cdef int64_t pair
    cdef int axis
    cdef double square, weight
    cdef double apart[3]
    cdef double pulled[3]
    pulled[0] = pulled[1] = pulled[2] = 0
    for pair in range(begin, end):
        square = 0
        for axis in range(dimensions):
            apart[axis] = layout[i * dimensions + axis] - layout[others[pair] * dimensions + axis]
            square += apart[axis] * apart[axis]
        weight = weights[pair] / (1 + square)
        for axis in range(dimensions):
            pulled[axis] += weight * apart[axis]
    for axis in range(dimensions):
        force[axis] = pulled[axis]


cdef inline uint64_t draw(uint64_t *state) noexcept nogil:
    """A random number: xorshift64*, which is good enough to choose points by."""
    state[0] ^= state[0] >> 12
    state[0] ^= state[0] << 25
    state[0] ^= state[0] >> 27
    return state[0] * <uint64_t>2685821657736338717


cdef inline double clip(double value) noexcept nogil:
    return 4 if value > 4 else (-4 if value < -4 else value)


def settle(
    double[:, ::1] layout,
    const int32_t[::1] heads,
    const int32_t[::1] tails,
    const double[::1] periods,
    double[::1] due,
    double epoch,
    double rate,
    double a,
    double b,
    int strangers,
    uint64_t[::1] random,
):
    """Draw the pairs together that are due, and drive each away from some random points."""
    cdef int64_t pair, points = layout.shape[0]
    cdef int32_t head, tail
    cdef int axis, turn, dimensions = <int>layout.shape[1]
    cdef double square, power, force, step
    if min(heads.shape[0], tails.shape[0], periods.shape[0], due.shape[0]) != heads.shape[0]:
        raise ValueError("columns of pairs have one length")
    if random.shape[0] != 1 or not random[0] or not 0 < points < 1 << 31:
        raise ValueError("a random state that is not 0, and points, are needed")
    with nogil:
        for pair in range(heads.shape[0]):
            if due[pair] > epoch:
                continue
            due[pair] += periods[pair]
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
            for turn in range(strangers):
                tail = <int32_t>((draw(&random[0]) >> 32) * <uint64_t>points >> 32)
                square = 0
                for axis in range(dimensions):
                    square += (layout[head, axis] - layout[tail, axis]) ** 2
                if square == 0:
                    continue
                force = 2 * b / ((0.001 + square) * (1 + a * powf(<float>square, <float>b)))
                for axis in range(dimensions):
                    layout[head, axis] += rate * clip(
                        force * (layout[head, axis] - layout[tail, axis])
                    )
