/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NVRTC, modules and launches. NVRTC "compiles" a source by looking which of its kernels the double has in C
 * (lanes.h); a built image is a text that names the architecture and these kernels:
 *
 *   "cuda double: cubin sm_80 of NVRTC 12080\n" or "cuda double: ptx compute_80 of NVRTC 12080\n", "mx_fill\n" …, zero
 *
 * With the setting `ptx` the real NVRTC (support/nvrtc.h) compiles, for cubin and ptx alike, and "PTX\n" and its text follow the names.
 *
 * Memory: programs, modules and functions are the double's; functions go with their module.
 */
#include "inside.h"

#include "support/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTX_LINE    "\nPTX\n"
#define NAMES_BYTES 8192
#define LOG_BYTES   512
#define ARCHS_MAX   64

/* ---- NVRTC ---- */

static struct nvrtc real;
static bool found;

static void find(void)
{
    const char *const path = getenv("CUDA_DOUBLE_NVRTC");
    found = path && *path && nvrtc_load(&real, path);
}

static const struct nvrtc *nvrtc_real(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found ? &real : NULL;
}

int double_nvrtc_version(void)
{
    const struct nvrtc *const nvrtc = nvrtc_real();
    return nvrtc ? 1000 * nvrtc->major + 10 * nvrtc->minor : 0;
}

struct program {
    struct object object;
    char *source;
    char *image; /* NULL: not built */
    char log[LOG_BYTES];
    bool ptx;
};

/* Architectures of each generation, ascending. */
static int archs_known(int out[ARCHS_MAX])
{
    if (settings()->ptx) return nvrtc_real() ? nvrtc_archs(nvrtc_real(), out, ARCHS_MAX) : 0;
    static const int all[] = {70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120};
    const long version = settings()->nvrtc_version;
    const int least = version >= 13000 ? 75 : 70, most = version >= 12080 ? 120 : 90;
    int count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= least && all[i] <= most) out[count++] = all[i];
    return count;
}

static int version_now(void)
{
    return settings()->ptx ? double_nvrtc_version() : (int)settings()->nvrtc_version;
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    const int version = version_now();
    *major = version / 1000;
    *minor = version % 1000 / 10;
    return version > 0 ? NVRTC_SUCCESS : fault(11, "the real NVRTC was not found"); /* NVRTC_ERROR_INTERNAL_ERROR */
}

const char *nvrtcGetErrorString(nvrtcResult code)
{
    switch (code) {
    case NVRTC_SUCCESS:
        return "NVRTC_SUCCESS";
    case 5:
        return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION:
        return "NVRTC_ERROR_COMPILATION";
    default:
        return "NVRTC_ERROR_INTERNAL_ERROR";
    }
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    int archs[ARCHS_MAX];
    *count = archs_known(archs);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *archs)
{
    archs_known(archs);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int headers,
                               const char *const *texts, const char *const *names)
{
    (void)name;
    if (headers != 0 || texts || names) return fault(3, "nvrtcCreateProgram: headers are not known here");
    struct program *const program = calloc(1, sizeof *program);
    program->source = strdup(source);
    object_add(&program->object, PROGRAM, NULL);
    *out = (nvrtcProgram)program;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle)
{
    if (!object_is(*handle, PROGRAM, "nvrtcDestroyProgram")) return 4;
    struct program *const program = (struct program *)*handle;
    object_remove(&program->object);
    free(program->source);
    free(program->image);
    free(program);
    *handle = NULL;
    return NVRTC_SUCCESS;
}

/* Whether the source defines a kernel of this name. */
static bool source_has(const char *source, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = source; (at = strstr(at, name)); at += length)
        if (at[length] == '(' && (at[-1] == '\n' || at[-1] == ' ')) return true;
    return false;
}

/* The number after `word` in one of the options; -1 if none has it. */
static int option_number(int count, const char *const *options, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strncmp(options[i], word, strlen(word)) == 0) return atoi(options[i] + strlen(word));
    return -1;
}

static bool image_make(struct program *program, int arch, int count, const char *const *options)
{
    char *text = NULL;
    char names[NAMES_BYTES];
    int length = snprintf(names, sizeof names, "cuda double: %s_%d of NVRTC %d\n",
                          program->ptx ? "ptx compute" : "cubin sm", arch, version_now());
    for (const struct kernel *k = double_kernels; k->name; k++)
        if (source_has(program->source, k->name))
            length += snprintf(names + length, sizeof names - (size_t)length, "%s\n", k->name);
    if (settings()->ptx) {
        text = nvrtc_compile(nvrtc_real(), program->source, arch, count, options, program->log, LOG_BYTES);
        if (!text) return false;
    }
    const size_t bytes = (size_t)length + (text ? strlen(text) : 0) + sizeof PTX_LINE;
    free(program->image);
    program->image = malloc(bytes);
    snprintf(program->image, bytes, "%s%s%s", names, text ? &PTX_LINE[1] : "", text ? text : "");
    free(text);
    return true;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char *const *options)
{
    if (!object_is(handle, PROGRAM, "nvrtcCompileProgram")) return 4;
    struct program *const program = (struct program *)handle;
    int archs[ARCHS_MAX], known = archs_known(archs), arch = option_number(count, options, "--gpu-architecture=sm_");
    program->ptx = arch < 0;
    if (program->ptx) arch = option_number(count, options, "--gpu-architecture=compute_");
    pause_us(settings()->compile_ms * 1000);
    totals.compiles++;
    program->log[0] = '\0';
    while (known > 0 && archs[known - 1] != arch) known--;
    if (known == 0) {
        snprintf(program->log, LOG_BYTES, "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
        return 5;
    }
    if (strikes(&settings()->fail_compile)) {
        snprintf(program->log, LOG_BYTES, "kernels.cu(1): error: expected a declaration\n1 error detected\n");
        return NVRTC_ERROR_COMPILATION;
    }
    if (option_number(count, options, "-DMX_GROUP=") != 64 || option_number(count, options, "-DMX_WIDE=") != 256) {
        snprintf(program->log, LOG_BYTES, "error: the double has its kernels for MX_GROUP 64 and MX_WIDE 256\n");
        return fault(NVRTC_ERROR_COMPILATION, "nvrtcCompileProgram: MX_GROUP or MX_WIDE");
    }
    return image_make(program, arch, count, options) ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

static nvrtcResult image_bytes(nvrtcProgram handle, size_t *bytes, bool ptx)
{
    if (!object_is(handle, PROGRAM, "nvrtcGet…Size")) return 4;
    const struct program *const program = (const struct program *)handle;
    if (program->ptx != ptx || !program->image) return fault(3, "an image that was not built is asked for");
    *bytes = strlen(program->image) + 1;
    return NVRTC_SUCCESS;
}

static nvrtcResult image_get(nvrtcProgram handle, char *out, bool ptx)
{
    size_t bytes = 0;
    const nvrtcResult code = image_bytes(handle, &bytes, ptx);
    if (code == NVRTC_SUCCESS) memcpy(out, ((const struct program *)handle)->image, bytes);
    return code;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes)
{
    return image_bytes(program, bytes, false);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *out)
{
    return image_get(program, out, false);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes)
{
    return image_bytes(program, bytes, true);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *out)
{
    return image_get(program, out, true);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t *bytes)
{
    if (!object_is(handle, PROGRAM, "nvrtcGetProgramLogSize")) return 4;
    *bytes = strlen(((const struct program *)handle)->log) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char *out)
{
    if (!object_is(handle, PROGRAM, "nvrtcGetProgramLog")) return 4;
    const char *const log = ((const struct program *)handle)->log;
    memcpy(out, log, strlen(log) + 1);
    return NVRTC_SUCCESS;
}

/* ---- modules ---- */

struct function {
    struct object object;
    const struct kernel *kernel;
    const struct ptx_entry *entry; /* NULL: the kernel in C */
    atomic_bool loaded;            /* by a question about it, or by its first launch */
    struct function *next;         /* of the module */
};

struct module {
    struct object object;
    char *names;            /* the head of the image */
    struct ptx_module *ptx; /* NULL: kernels are those in C */
    struct function *functions;
};

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, int *options, void **values)
{
    struct context *context;
    char kind[16] = "";
    int arch = 0, version = 0;
    const CUresult code = context_outside_capture(&context, "cuModuleLoadDataEx");
    if (code != CUDA_SUCCESS) return code;
    if (count != 0 || options || values) return fault(CUDA_ERROR_INVALID_VALUE, "cuModuleLoadDataEx: options");
    if (strikes(&settings()->fail_load)) return (CUresult)settings()->load_code;
    if (sscanf(image, "cuda double: %15s", kind) != 1) return CUDA_ERROR_INVALID_IMAGE;
    const bool ptx = strcmp(kind, "ptx") == 0;
    if (sscanf(image, ptx ? "cuda double: ptx compute_%d of NVRTC %d" : "cuda double: cubin sm_%d of NVRTC %d", &arch,
               &version) != 2) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    const long own = settings()->capability;
    if (ptx && version > settings()->driver_version) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    /* Machine code of a later generation of CUDA; the real NVRTC may be one. */
    if (!settings()->ptx && version / 1000 > settings()->driver_version / 1000) return CUDA_ERROR_INVALID_IMAGE;
    if (ptx ? arch > own : arch / 10 != own / 10 || arch > own) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    const char *const text = strstr(image, PTX_LINE);
    if (!text && settings()->ptx) return CUDA_ERROR_INVALID_IMAGE; /* of another time */
    struct ptx_module *entries = NULL;
    if (text) {
        char error[PTX_ERROR_BYTES];
        char *const mutated = ptx_mutated(text + strlen(PTX_LINE));
        entries = ptx_read(mutated, error);
        free(mutated);
        if (!entries) return fault(CUDA_ERROR_INVALID_PTX, "the PTX of NVRTC: %s", error);
    }
    struct module *const module = calloc(1, sizeof *module);
    module->names = strndup(image, text ? (size_t)(text - (const char *)image) + 1 : strlen(image));
    module->ptx = entries;
    object_add(&module->object, MODULE, context);
    *out = (CUmodule)module;
    return CUDA_SUCCESS;
}

void module_close(struct object *object)
{
    struct module *const module = (struct module *)object;
    while (module->functions) {
        struct function *const function = module->functions;
        module->functions = function->next;
        object_remove(&function->object);
        free(function);
    }
    object_remove(object);
    ptx_release(module->ptx);
    free(module->names);
    free(module);
}

CUresult cuModuleUnload(CUmodule handle)
{
    struct context *context;
    const CUresult code = context_outside_capture(&context, "cuModuleUnload");
    if (!object_is(handle, MODULE, "cuModuleUnload")) return CUDA_ERROR_INVALID_HANDLE;
    module_close((struct object *)handle);
    return code;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
    char line[80];
    struct context *context;
    const CUresult code = context_outside_capture(&context, "cuModuleGetFunction");
    if (code != CUDA_SUCCESS) return code;
    if (!object_is(handle, MODULE, "cuModuleGetFunction")) return CUDA_ERROR_INVALID_HANDLE;
    struct module *const module = (struct module *)handle;
    snprintf(line, sizeof line, "\n%s\n", name);
    const struct kernel *kernel = double_kernels;
    while (kernel->name && strcmp(kernel->name, name) != 0) kernel++;
    if (!kernel->name || !strstr(module->names, line)) {
        return fault(CUDA_ERROR_NOT_FOUND, "cuModuleGetFunction: no kernel %s", name);
    }
    struct function *const function = calloc(1, sizeof *function);
    function->kernel = kernel;
    function->entry = module->ptx ? ptx_entry_find(module->ptx, name) : NULL;
    function->next = module->functions;
    module->functions = function;
    object_add(&function->object, FUNCTION, module->object.context);
    *out = (CUfunction)function;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction handle)
{
    struct context *context;
    const CUresult code = context_outside_capture(&context, "cuFuncGetAttribute");
    if (code != CUDA_SUCCESS) return code;
    if (!object_is(handle, FUNCTION, "cuFuncGetAttribute")) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        return fault(CUDA_ERROR_INVALID_VALUE, "cuFuncGetAttribute: attribute %d is not known here", attribute);
    *value = (int)settings()->threads_most;
    ((struct function *)handle)->loaded = true;
    return CUDA_SUCCESS;
}

/* ---- launches ---- */

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream_handle,
                        void **parameters, void **extra)
{
    struct stream *stream;
    struct context *context;
    CUresult code = stream_check(stream_handle, &stream, "cuLaunchKernel");
    if (code == CUDA_SUCCESS) code = context_now(&context, "cuLaunchKernel");
    if (code != CUDA_SUCCESS) return code;
    if (!object_is(handle, FUNCTION, "cuLaunchKernel")) return CUDA_ERROR_INVALID_HANDLE;
    struct function *const function = (struct function *)handle;
    const struct kernel *const kernel = function->kernel;
    /* A kernel is loaded at its first launch, which may wait for the device and takes memory. */
    if (stream->capture && !function->loaded) {
        stream->spoiled = true;
        return fault(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s is loaded in a capture", kernel->name);
    }
    function->loaded = true;
    if (function->object.context != stream->object.context || context != stream->object.context) {
        return fault(CUDA_ERROR_INVALID_HANDLE, "%s: kernel, stream and thread are not of one context", kernel->name);
    }
    if (grid_x == 0 || grid_x > 0x7fffffffu || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 ||
        shared_bytes != 0 || extra) {
        return fault(CUDA_ERROR_INVALID_VALUE, "%s: a launch of another form than announced", kernel->name);
    }
    const int lanes = function->entry ? ptx_entry_lanes(function->entry) : kernel->lanes;
    if ((int)block_x != lanes) {
        return fault((int)block_x > lanes ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : CUDA_ERROR_INVALID_VALUE,
                     "%s: %u lanes instead of %d", kernel->name, block_x, lanes);
    }
    for (int i = 0; function->entry && kernel->kinds[i]; i++) {
        const bool wide = kernel->kinds[i] == 'p' || kernel->kinds[i] == 'l';
        if (ptx_entry_parameters(function->entry)[i] != (wide ? 8 : 4))
            return fault(CUDA_ERROR_INVALID_VALUE, "%s: parameter %d has another size", kernel->name, i);
    }
    if (lanes > settings()->threads_most)
        return fault(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "%s: %d lanes, of which the device runs %ld", kernel->name,
                     lanes, (long)settings()->threads_most);
    if (strikes(&settings()->fail_launch)) return (CUresult)settings()->launch_code;
    struct command *const command = command_make(COMMAND_KERNEL);
    command->call.kernel = kernel;
    command->call.entry = function->entry;
    command->call.groups = grid_x;
    for (int i = 0; kernel->kinds[i]; i++) {
        const bool wide = kernel->kinds[i] == 'p' || kernel->kinds[i] == 'l';
        memcpy(&command->call.values[i], parameters[i], wide ? 8 : 4);
    }
    totals.launches++;
    return stream_submit(stream, command);
}
