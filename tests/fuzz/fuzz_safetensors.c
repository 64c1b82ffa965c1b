/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for safetensors files: any bytes as a file, and any bytes as the header of a file that fits
 * it; whatever is accepted must lie within the bytes. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <string.h>

#include "base/format/safetensors.h"
#include "base/string.h"
#include "fuzz.h"

static void check_file(const struct mx_safetensors *file, const uint8_t *data, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < mx_safetensors_count(file); i++) {
        const struct mx_tensor *const tensor = mx_safetensors_at(file, i);
        const uint8_t *const begin = tensor->data;
        check(begin >= data && begin <= data + size && tensor->bytes <= (uint64_t)(data + size - begin));
        check(mx_safetensors_find(file, tensor->name) == tensor);
        check(mx_utf8_check(tensor->name, strlen(tensor->name)) == strlen(tensor->name));
        for (uint64_t k = 0; k < tensor->bytes; k++) sum += begin[k]; /* every byte can be read */
    }
    for (size_t i = 0; i < mx_safetensors_metadata_count(file); i++) {
        const struct mx_metadata *const metadata = mx_safetensors_metadata_at(file, i);
        check(mx_safetensors_metadata(file, metadata->key) == metadata->text);
    }
    check(sum <= UINT64_C(255) * size);
}

static void try(const uint8_t *data, size_t size)
{
    struct mx_safetensors *file = NULL;
    if (mx_safetensors_parse("fuzz", data, size, &file) == 0) {
        check_file(file, data, size);
        mx_safetensors_close(file);
    } else {
        check(file == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try(data, size);
    /* The same bytes with a true length in front and a little data after them, so that headers are reached quickly. */
    const size_t tail = size > 0 ? data[size - 1] % 32 : 0;
    uint8_t *const whole = malloc(8 + size + tail);
    if (whole == NULL) return 0;
    for (int i = 0; i < 8; i++) whole[i] = (uint8_t)((uint64_t)size >> 8 * i);
    if (size > 0) memcpy(whole + 8, data, size);
    memset(whole + 8 + size, 0, tail);
    try(whole, 8 + size + tail);
    free(whole);
    return 0;
}
