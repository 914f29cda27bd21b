"""What a kernel asks of the processor and Numba has no words for, as LLVM instructions."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

_I32, _I64, _DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_FOUR = ir.VectorType(_DOUBLE, 4)
_FUSED = ("contract",)  # a product and the sum it is added to may be rounded once


def _prefetch(context, builder, signature, args, locality):
    """LLVM's prefetch of ``array[index]`` (C order): for reading, into the data cache."""
    view = context.make_array(signature.args[0])(context, builder, args[0])
    index = context.cast(builder, args[1], signature.args[1], types.intp)
    if signature.args[0].ndim == 2:
        index = builder.mul(index, builder.extract_value(view.shape, 1))
    void_pointer = ir.IntType(8).as_pointer()
    address = builder.bitcast(cgutils.gep_inbounds(builder, view.data, index), void_pointer)
    signature_ = ir.FunctionType(ir.VoidType(), [void_pointer, _I32, _I32, _I32])
    function = cgutils.get_or_insert_function(builder.module, signature_, "llvm.prefetch.p0")
    builder.call(function, [address, _I32(0), _I32(locality), _I32(1)])
    return context.get_dummy_value()


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line where ``array[index]`` begins, a number or a row of them, without
    waiting for it."""

    def codegen(context, builder, signature, args):
        return _prefetch(context, builder, signature, args, 3)

    return types.void(array, index), codegen


@intrinsic
def prefetch_second(typingctx, array, index):
    """Ask for the cache line of ``array[index]`` no nearer than the second-level cache.

    The first level can wait for some twenty lines at a time.  Lines that come from afar would take
    all these places, and the entries of w, which lie in the second level, would wait for them.
    """

    def codegen(context, builder, signature, args):
        return _prefetch(context, builder, signature, args, 2)

    return types.void(array, index), codegen


def _check_layout(*arrays):
    """A stride would be read past."""
    if any(array.ndim != 1 or array.layout != "C" for array in arrays):
        raise TypingError("rows and w must be one-dimensional and lie in one piece")


class _Row:
    """Builds loops over the values of a row, four at a time; its rest follows one by one.

    The values are loaded and widened together, w one after another: Numba's own loops take every
    value by itself, and the compiler's gathers are slower than either.
    """

    def __init__(self, context, builder, signature, args):
        self.builder = builder
        self.values, self.columns, self.w = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:3], args)
        )
        self.begin, self.end = args[3:5]
        self.rest = builder.add(
            self.begin, builder.and_(builder.sub(self.end, self.begin), _I64(-4))
        )
        values, _, w = (kind.dtype for kind in signature.args[:3])
        self.four_values = ir.VectorType(context.get_data_type(values), 4)
        self.bytes, self.weight_type = values.bitwidth // 8, context.get_data_type(w)

    def fours(self):
        return cgutils.for_range_slice(self.builder, self.begin, self.rest, _I64(4), _I64)

    def others(self):
        return cgutils.for_range_slice(self.builder, self.rest, self.end, _I64(1), _I64)

    def value(self, k):
        return self.widened(self.builder.load(self.builder.gep(self.values, [k])), _DOUBLE)

    def four_values_at(self, k):
        place = self.builder.gep(self.values, [k])
        place = self.builder.bitcast(place, self.four_values.as_pointer())
        return self.widened(self.builder.load(place, align=self.bytes), _FOUR)

    def places_of_w(self, k, count):
        """Where w[columns[k]], …, w[columns[k + count − 1]] are."""
        numbers = [self.builder.add(k, _I64(lane)) for lane in range(count)]
        columns = [self.builder.load(self.builder.gep(self.columns, [n])) for n in numbers]
        if columns[0].type != _I64:
            columns = [self.builder.zext(column, _I64) for column in columns]
        return [self.builder.gep(self.w, [column]) for column in columns]

    def widened(self, number, to):
        return number if number.type == to else self.builder.fpext(number, to)

    def plus_product(self, total, a, b):
        return self.builder.fadd(total, self.builder.fmul(a, b, flags=_FUSED), flags=_FUSED)


@intrinsic
def sparse_dot(typingctx, values, columns, w, first, last):
    """Σ values[k]·w[columns[k]] over first ≤ k < last, in float64; all arrays 1-D, in C order."""
    _check_layout(values, columns, w)

    def codegen(context, builder, signature, args):
        row = _Row(context, builder, signature, args)
        sums = cgutils.alloca_once_value(builder, ir.Constant(_FOUR, [0.0] * 4))
        with row.fours() as (k, _):
            weights = ir.Constant(ir.VectorType(row.weight_type, 4), ir.Undefined)
            for lane, place in enumerate(row.places_of_w(k, 4)):
                weights = builder.insert_element(weights, builder.load(place), _I32(lane))
            weights = row.widened(weights, _FOUR)
            total = row.plus_product(builder.load(sums), row.four_values_at(k), weights)
            builder.store(total, sums)
        sums = builder.load(sums)
        a, b, c, d = (builder.extract_element(sums, _I32(lane)) for lane in range(4))
        total = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
        total = cgutils.alloca_once_value(builder, total)
        with row.others() as (k, _):
            weight = row.widened(builder.load(row.places_of_w(k, 1)[0]), _DOUBLE)
            builder.store(row.plus_product(builder.load(total), row.value(k), weight), total)
        return builder.load(total)

    return types.float64(values, columns, w, first, last), codegen


@intrinsic
def sparse_axpy(typingctx, values, columns, w, first, last, scale):
    """w[columns[k]] += scale·values[k] for first ≤ k < last; all arrays 1-D, in C order.

    Returns by how much ‖w‖² has grown; where nobody asks, the compiler leaves that out.
    """
    _check_layout(values, columns, w)

    def codegen(context, builder, signature, args):
        row, scale = _Row(context, builder, signature, args), args[5]
        sums = [cgutils.alloca_once_value(builder, _DOUBLE(0.0)) for _ in range(4)]

        def add(place, value, total):
            old = row.widened(builder.load(place), _DOUBLE)
            new = row.plus_product(old, value, scale)
            both = row.plus_product(builder.load(total), value, builder.fadd(old, new))
            builder.store(both, total)
            if row.weight_type != _DOUBLE:
                new = builder.fptrunc(new, row.weight_type)
            builder.store(new, place)

        with row.fours() as (k, _):
            values = row.four_values_at(k)
            for lane, place in enumerate(row.places_of_w(k, 4)):
                add(place, builder.extract_element(values, _I32(lane)), sums[lane])
        with row.others() as (k, _):
            add(row.places_of_w(k, 1)[0], row.value(k), sums[0])
        a, b, c, d = (builder.load(total) for total in sums)
        return builder.fmul(scale, builder.fadd(builder.fadd(a, b), builder.fadd(c, d)))

    return types.float64(values, columns, w, first, last, scale), codegen


def _bits(to, number):
    """An intrinsic's code: the same bits as another type."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(to))

    return to(number), codegen


@intrinsic
def single_of_bits(typingctx, bits):
    """The float32 of 32 bits."""
    return _bits(types.float32, types.int32)


@intrinsic
def double_of_bits(typingctx, bits):
    """The float64 of 64 bits."""
    return _bits(types.float64, types.int64)


@intrinsic
def bits_of_single(typingctx, number):
    """The 32 bits of a float32."""
    return _bits(types.int32, types.float32)


@intrinsic
def sparse_block_dots(typingctx, values, columns, table, out, first, last):
    """out[l] = Σ values[k]·table[columns[k], l] over first ≤ k < last, for the 32 numbers of out.

    ``table`` lies in one piece, 32 numbers of out's type for every column; the sums stay in
    registers.
    """
    _check_layout(values, columns, table, out)
    width = 32

    def codegen(context, builder, signature, args):
        data, indices, rows, sums = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:4], args)
        )
        number = context.get_data_type(signature.args[3].dtype)
        vector, size = ir.VectorType(number, width), signature.args[3].dtype.bitwidth // 8
        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * width))
        with cgutils.for_range_slice(builder, args[4], args[5], _I64(1), _I64) as (k, _):
            value = builder.load(builder.gep(data, [k]))
            if value.type != number:
                widen = signature.args[3].dtype.bitwidth > signature.args[0].dtype.bitwidth
                value = (builder.fpext if widen else builder.fptrunc)(value, number)
            column = builder.load(builder.gep(indices, [k]))
            column = column if column.type == _I64 else builder.zext(column, _I64)
            place = builder.gep(rows, [builder.mul(column, _I64(width))])
            place = builder.bitcast(place, vector.as_pointer())
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _I32(0))
            lanes = ir.Constant(ir.VectorType(_I32, width), [0] * width)
            every = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)
            product = builder.fmul(every, builder.load(place, align=size), flags=_FUSED)
            builder.store(builder.fadd(builder.load(total), product, flags=_FUSED), total)
        place = builder.bitcast(sums, vector.as_pointer())
        builder.store(builder.load(total), place, align=size)
        return context.get_dummy_value()

    return types.void(values, columns, table, out, first, last), codegen
