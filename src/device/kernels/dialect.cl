/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dialect of the kernels: what OpenCL C 1.2 and CUDA C++ (NVRTC) spell differently. All sources of this folder are
 * one program, joined in the order of MX_KERNEL_SOURCES (launch.h), this file first.
 *
 * A kernel is a grid of groups in one dimension, each of a fixed number of lanes:
 *   MX_GROUP   lanes that work together on a row, a sequence or a frame, with local memory and barriers
 *   MX_WIDE    lanes that do not know of each other: one element each
 * Both are powers of two and come from the options of the build (launch.h). Loops of a group have the same number of
 * rounds for all lanes, so that compilers for CPUs turn lanes into vectors.
 *
 * Operands are a base and a distance in bytes, since an OpenCL buffer has no address on the host: MX_ARG declares one,
 * MX_USE opens it. The distance -1 stands for an operand that is absent; MX_USE makes it NULL.
 *
 * Data that could not be checked before (ids, offsets) are checked here: mx_fail writes what is wrong to the status words
 * of the stream, of several the first. Nothing outside the operands is read or written because of them.
 */
#if defined(MX_DIALECT_OWN) /* somebody gives these words: tests/double, which compiles kernels as C */
#define MX_DIALECT_C
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define MX_KERNEL(lanes) extern "C" __global__ void __launch_bounds__(lanes)
#define MX_GLOBAL
#define MX_LOCAL         __shared__
#define MX_LOCAL_POINTER
#define MX_INLINE        static __device__ __forceinline__
#define MX_CONSTANT      static __device__ const
#define MX_BARRIER()     __syncthreads()
#define MX_LANE          ((int)threadIdx.x)
#define MX_INDEX         ((mx_long)blockIdx.x)
#define MX_INT_BITS(x)   __float_as_int(x)
#define MX_FLOAT_BITS(x) __int_as_float(x)
#define MX_LONG_BITS(x)  __double_as_longlong(x)
#define MX_DOUBLE_BITS(x) __longlong_as_double(x)
#define MX_SWAP_IF(p, old, fresh) atomicCAS(p, old, fresh)
#define MX_INFINITY      __int_as_float(0x7f800000)
#define MX_DIALECT_C
#else
#if !defined(MX_PAIRS)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define MX_KERNEL(lanes) __kernel __attribute__((reqd_work_group_size(lanes, 1, 1))) void
#define MX_GLOBAL        __global
#define MX_LOCAL         __local
#define MX_LOCAL_POINTER __local
#define MX_INLINE        static inline
#define MX_CONSTANT      __constant const
#define MX_BARRIER()     barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define MX_LANE          ((int)get_local_id(0))
#define MX_INDEX         ((mx_long)get_group_id(0))
#define MX_INT_BITS(x)   as_int(x)
#define MX_FLOAT_BITS(x) as_float(x)
#define MX_LONG_BITS(x)  as_long(x)
#define MX_DOUBLE_BITS(x) as_double(x)
#define MX_SWAP_IF(p, old, fresh) atomic_cmpxchg(p, old, fresh)
typedef long mx_long;
typedef uint mx_uint;
typedef ulong mx_ulong;
typedef ushort mx_ushort;
#define MX_MAX(a, b)     fmax(a, b)
#define MX_MIN(a, b)     fmin(a, b)
#define MX_EXP(x)        exp(x)
#define MX_LOG(x)        log(x)
#define MX_LOG2(x)       log2(x)
#define MX_LOG1P(x)      log1p(x)
#define MX_SQRT(x)       sqrt(x)
#define MX_ABS(x)        fabs(x)
#define MX_ABS_DOUBLE(x) fabs(x)
#define MX_INFINITY      INFINITY
#endif
#if defined(MX_DIALECT_C) /* what CUDA spells as C does */
typedef long long mx_long;
typedef unsigned int mx_uint;
typedef unsigned long long mx_ulong;
typedef unsigned short mx_ushort;
#define MX_MAX(a, b)     fmaxf(a, b)
#define MX_MIN(a, b)     fminf(a, b)
#define MX_EXP(x)        expf(x)
#define MX_LOG(x)        logf(x)
#define MX_LOG2(x)       log2f(x)
#define MX_LOG1P(x)      log1pf(x)
#define MX_SQRT(x)       sqrtf(x)
#define MX_ABS(x)        fabsf(x)
#define MX_ABS_DOUBLE(x) fabs(x)
#endif

#define MX_ARG(type, name) MX_GLOBAL type *name##_base, mx_long name##_at
#define MX_USE(type, name)                                                                                             \
    MX_GLOBAL type *const name =                                                                                       \
        name##_at < 0 ? (MX_GLOBAL type *)0 : (MX_GLOBAL type *)((MX_GLOBAL char *)name##_base + name##_at)

/* Runs `k` over the columns 0 … n-1 of a row, MX_GROUP at a time, the lanes side by side. */
#define MX_EACH(k, n)                                                                                                  \
    for (int k##_first = 0; k##_first < (n); k##_first += MX_GROUP)                                                    \
        for (int k = k##_first + MX_LANE, k##_once = 1; k##_once && k < (n); k##_once = 0)

/* ---- status ---- */
MX_INLINE void mx_fail(MX_GLOBAL int *status, int op, int first, int second)
{
    if (MX_SWAP_IF(status, 0, op + 1) != 0) return;
    status[1] = first;
    status[2] = second;
}

/* ---- bf16: the upper half of a float, rounded to nearest even; NaN stays NaN ---- */
MX_INLINE mx_ushort mx_bf16_of_bits(mx_uint bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u ? (mx_ushort)(bits >> 16 | 0x40u)
                                              : (mx_ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

MX_INLINE mx_ushort mx_to_bf16(float x)
{
    return mx_bf16_of_bits((mx_uint)MX_INT_BITS(x));
}

MX_INLINE float mx_from_bf16(mx_ushort x)
{
    return MX_FLOAT_BITS((int)((mx_uint)x << 16));
}

/* ---- sums over the lanes of a group, always in the same order ---- */
MX_INLINE float mx_group_sum(MX_LOCAL_POINTER float *all, float value)
{
    all[MX_LANE] = value;
    MX_BARRIER();
    for (int s = MX_GROUP / 2; s > 0; s /= 2) {
        if (MX_LANE < s) all[MX_LANE] += all[MX_LANE + s];
        MX_BARRIER();
    }
    const float sum = all[0];
    MX_BARRIER();
    return sum;
}

MX_INLINE float mx_group_max(MX_LOCAL_POINTER float *all, float value)
{
    all[MX_LANE] = value;
    MX_BARRIER();
    for (int s = MX_GROUP / 2; s > 0; s /= 2) {
        if (MX_LANE < s) all[MX_LANE] = MX_MAX(all[MX_LANE], all[MX_LANE + s]);
        MX_BARRIER();
    }
    const float most = all[0];
    MX_BARRIER();
    return most;
}

/* ---- packed sequences ---- */
/* The first segment whose end is after `row`; `count` if none does. */
MX_INLINE int mx_segment_of(MX_GLOBAL const int *ends, int count, mx_long row)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (ends[middle + 1] <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- the generator of base/rng.h ---- */
MX_INLINE void mx_philox(mx_ulong seed, mx_ulong stream, mx_ulong block, mx_uint out[4])
{
    mx_uint c0 = (mx_uint)block, c1 = (mx_uint)(block >> 32), c2 = (mx_uint)stream, c3 = (mx_uint)(stream >> 32);
    mx_uint k0 = (mx_uint)seed, k1 = (mx_uint)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const mx_ulong p0 = (mx_ulong)0xD2511F53u * c0, p1 = (mx_ulong)0xCD9E8D57u * c2;
        const mx_uint n0 = (mx_uint)(p1 >> 32) ^ c1 ^ k0, n2 = (mx_uint)(p0 >> 32) ^ c3 ^ k1;
        c1 = (mx_uint)p1;
        c3 = (mx_uint)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* ---- activations: enum mx_activation, 1 ReLU, 2 GELU ---- */
/* 2^t for |t| ≤ 126, relative error 1e-8 before rounding. */
MX_INLINE float mx_exp2_bounded(float t)
{
    const float shifted = t + 0x1.8p23f, n = shifted - 0x1.8p23f, f = t - n;
    float p = f * 0x1.4413cp-13f + 0x1.5f08ep-10f;
    p = p * f + 0x1.3b2a52p-7f;
    p = p * f + 0x1.c6af6cp-5f;
    p = p * f + 0x1.ebfbep-3f;
    p = p * f + 0x1.62e43p-1f;
    p = p * f + 1.0f;
    return MX_FLOAT_BITS(MX_INT_BITS(p) + (MX_INT_BITS(shifted) << 23));
}

#define MX_GELU_1 (-2.302208198144325f)  /* -2 √(2/π)/ln 2 */
#define MX_GELU_3 (-0.1029432395800235f) /* 0.044715 times that */

MX_INLINE float mx_gelu(float at)
{
    const float x = at > -10.0f ? at : -10.0f;
    const float u = x * (x * x * MX_GELU_3 + MX_GELU_1), t = u > -126.0f ? u : -126.0f;
    const float y = x / (mx_exp2_bounded(t) + 1.0f);
    return at <= -10.0f ? 0.0f : at != at ? at : y;
}

MX_INLINE float mx_gelu_grad(float at)
{
    const float ln2 = 0x1.62e43p-1f, x = at > 10.0f ? 10.0f : at < -10.0f ? -10.0f : at, square = x * x;
    const float e = mx_exp2_bounded(x * (square * MX_GELU_3 + MX_GELU_1)), s = 1.0f / (e + 1.0f);
    const float slope = x * (square * (-3.0f * ln2 * MX_GELU_3) - ln2 * MX_GELU_1);
    return s + slope * (e * s) * s;
}

MX_INLINE float mx_activate(int act, float z)
{
    return act == 2 ? mx_gelu(z) : act == 1 ? (z > 0.0f || z != z ? z : 0.0f) : z;
}

MX_INLINE float mx_slope(int act, float z)
{
    return act == 2 ? mx_gelu_grad(z) : act == 1 ? (z > 0.0f ? 1.0f : 0.0f) : 1.0f;
}
