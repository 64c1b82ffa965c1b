/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading packed corpora, see packed.h.
 *
 * Nothing in the file is trusted: sizes and places are checked against the size of the file when it is opened, even if
 * the hashes match (the author of a hostile file can compute them too), and each payload is checked every time it is
 * read. Everything is copied before it is checked, and only the copy is used: another program may shorten or rewrite
 * the file at any moment, which then is a proper error. That is why nothing is mapped.
 */
#include "corpus/packed/packed.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/format/cjson.h"
#include "base/string.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 300

static const char hint_again[] = "make it again with 'myxtts prepare'";
/* The fault of a file whose bytes the disk did not give, which says nothing about what they are: MX_ERR_IO is set then. */
static const char unreadable[] = "it cannot be read";

struct mx_packed_file {
    char name[QUOTED_BYTES]; /* quoted, for messages */
    int fd;                  /* -1: `data` is read instead */
    const unsigned char *data;
    size_t bytes;
    struct timespec changed; /* when the file was last written, at opening */
    struct mx_packed_header header;
    struct mx_packed_record *index;
    char *ids, *metadata_text;
    uint32_t *id_offsets;
    cJSON *metadata;
    const char **speakers; /* names in `metadata` */
    uint32_t speaker_count;
    struct mx_vocabulary *vocabulary;
};

static int damaged(const struct mx_packed_file *packed, const char *fault)
{
    if (fault == unreadable) return MX_ERR_IO;
    return MX_FAIL(MX_ERR_FORMAT, hint_again, "the packed corpus %s cannot be used: %s", packed->name, fault);
}

/* ---- reading ---- */

/* All of `bytes` from `offset` on into `out`, or what is wrong. */
static const char *bytes_read(const struct mx_packed_file *packed, uint64_t offset, void *out, uint64_t bytes)
{
    unsigned char *at = out;
    if (offset > packed->bytes || bytes > packed->bytes - offset) return "it ends too early";
    if (packed->fd < 0) {
        if (bytes > 0) memcpy(out, packed->data + offset, (size_t)bytes);
        return NULL;
    }
    while (bytes > 0) {
        const ssize_t done = pread(packed->fd, at, (size_t)bytes, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) {
            MX_FAIL(MX_ERR_IO, "check the disk, then try again", "cannot read the packed corpus %s: %s", packed->name,
                    strerror(errno));
            return unreadable;
        }
        if (done == 0) return "it ends too early";
        at += done;
        offset += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return NULL;
}

/* If another program changed the file, that is the fault to report, whatever else was found. */
static const char *fault_explain(const struct mx_packed_file *packed, const char *fault)
{
    struct stat status;
    if (packed->fd < 0 || fstat(packed->fd, &status) != 0) return fault;
    if ((uint64_t)status.st_size < packed->bytes) return "the file was truncated while it was in use";
    if ((uint64_t)status.st_size > packed->bytes || status.st_mtim.tv_sec != packed->changed.tv_sec ||
        status.st_mtim.tv_nsec != packed->changed.tv_nsec)
        return "the file was changed while it was in use";
    return fault;
}

/* ---- opening ---- */

/* Sections follow each other without gaps other than alignment, in their order, and end with the file. */
static const char *sections_fault(const struct mx_packed_file *packed)
{
    const struct mx_packed_header *const header = &packed->header;
    uint64_t at = sizeof *header;
    for (int i = 0; i < MX_PACKED_SECTIONS; i++) {
        const struct mx_packed_section *const section = &header->sections[i];
        unsigned char gap[MX_PACKED_ALIGNMENT];
        if (section->offset != at || section->zero != 0) return "a section is at an invalid place";
        if (section->bytes > packed->bytes - at) return "a section is larger than the file";
        at += section->bytes;
        const uint64_t end = mx_packed_align(at);
        if (end > packed->bytes) return "a section is larger than the file";
        const char *const fault = bytes_read(packed, at, gap, end - at);
        if (fault != NULL) return fault;
        for (uint64_t k = 0; k < end - at; k++)
            if (gap[k] != 0) return "a gap between sections is damaged";
        at = end;
    }
    if (at != packed->bytes) return "its size does not match its sections";
    if (header->sections[MX_PACKED_META].bytes > MX_PACKED_METADATA_MAX) return "its metadata is too large";
    if (header->sections[MX_PACKED_INDEX].bytes != (uint64_t)header->record_count * sizeof(struct mx_packed_record))
        return "its index does not match the number of rows";
    if (header->sections[MX_PACKED_IDS].bytes > UINT32_MAX) return "its list of ids is too large";
    if (header->sections[MX_PACKED_RECORDS].hash != 0) return "unused bytes are not zero";
    return NULL;
}

/* Copies a section and checks the copy. *out is the caller's to free. */
static int section_read(const struct mx_packed_file *packed, enum mx_packed_section_type type, const char *wrong,
                        void **out)
{
    const struct mx_packed_section *const section = &packed->header.sections[type];
    *out = mx_alloc((size_t)section->bytes, 1);
    if (*out == NULL) return MX_ERR_NO_MEMORY;
    const char *fault = bytes_read(packed, section->offset, *out, section->bytes);
    if (fault == NULL && section->hash != mx_packed_hash(*out, (size_t)section->bytes)) fault = wrong;
    return fault == NULL ? 0 : damaged(packed, fault_explain(packed, fault));
}

static int sections_read(struct mx_packed_file *packed)
{
    int rc = 0;
    void *data = NULL;
    MX_TRY(section_read(packed, MX_PACKED_META, "its metadata is damaged (the hash does not match)", &data));
    packed->metadata_text = data;
    data = NULL;
    MX_TRY(section_read(packed, MX_PACKED_INDEX, "its index is damaged (the hash does not match)", &data));
    packed->index = data;
    data = NULL;
    MX_TRY(section_read(packed, MX_PACKED_IDS, "its list of ids is damaged (the hash does not match)", &data));
    packed->ids = data;
    data = NULL;
out:
    mx_free(data);
    return rc;
}

static int header_check(struct mx_packed_file *packed)
{
    struct mx_packed_header *const header = &packed->header;
    char fault[160];
    if (packed->bytes < sizeof *header) {
        snprintf(fault, sizeof fault, "%zu bytes are too few for one", packed->bytes);
        return damaged(packed, fault);
    }
    const char *wrong = bytes_read(packed, 0, header, sizeof *header);
    if (wrong == NULL) wrong = mx_packed_header_fault(header);
    if (wrong != NULL) return damaged(packed, wrong);
    if (header->state != MX_PACKED_FINISHED) {
        damaged(packed, "its preparation did not come to an end");
        return mx_error_hint("run the same 'myxtts prepare' again to continue where it stopped");
    }
    if (header->file_bytes != packed->bytes) {
        snprintf(fault, sizeof fault, "it has %zu bytes and should have %llu: it was %s", packed->bytes,
                 (unsigned long long)header->file_bytes, header->file_bytes > packed->bytes ? "truncated" : "added to");
        return damaged(packed, fault);
    }
    const char *const section = sections_fault(packed);
    return section == NULL ? 0 : damaged(packed, section);
}

/* Speakers and vocabulary; the rest of the metadata is for pack_spec.h. */
static int metadata_read(struct mx_packed_file *packed)
{
    int rc = 0;
    char *json = NULL;
    size_t bytes = 0;
    const char *const text = mx_packed_metadata(packed, &bytes);
    MX_TRY(mx_cjson_parse(text, bytes, NULL, &packed->metadata));
    const cJSON *const speakers = cJSON_GetObjectItemCaseSensitive(packed->metadata, "speakers");
    const cJSON *const vocabulary = cJSON_GetObjectItemCaseSensitive(packed->metadata, "vocabulary");
    if (!cJSON_IsArray(speakers) || !cJSON_IsObject(vocabulary))
        MX_TRY(damaged(packed, "its metadata has no speakers or no vocabulary"));
    packed->speakers = mx_alloc((size_t)cJSON_GetArraySize(speakers), sizeof *packed->speakers);
    if (packed->speakers == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const cJSON *speaker = NULL;
    cJSON_ArrayForEach(speaker, speakers)
    {
        if (!cJSON_IsString(speaker)) MX_TRY(damaged(packed, "a speaker in its metadata is not text"));
        packed->speakers[packed->speaker_count++] = speaker->valuestring;
    }
    json = cJSON_PrintUnformatted(vocabulary);
    if (json == NULL) MX_TRY(mx_alloc_failed("a vocabulary"));
    rc = mx_vocabulary_read(json, strlen(json), &packed->vocabulary);
    if (rc < 0) rc = mx_error_wrap("the packed corpus %s", packed->name);
out:
    cJSON_free(json);
    return rc;
}

/* What is wrong with the entry of a row, or NULL. */
static const char *entry_fault(const struct mx_packed_file *packed, uint32_t row)
{
    const struct mx_packed_record *const record = &packed->index[row];
    const struct mx_packed_section *const records = &packed->header.sections[MX_PACKED_RECORDS];
    const char *const fault = mx_packed_record_fault(&packed->header, record);
    if (fault != NULL) return fault;
    if (record->row != row) return "it is another row";
    /* record_fault: the offset is at least that of the first possible payload, and the size below 2^32. */
    const uint64_t end = records->offset + records->bytes;
    if (record->payload_offset > end || record->payload_bytes > end - record->payload_offset ||
        record->payload_offset - sizeof *record < records->offset)
        return "it lies outside the records";
    if (record->speaker >= packed->speaker_count) return "its speaker does not exist";
    if (record->token_count > 0 && record->language >= mx_vocabulary_languages(packed->vocabulary))
        return "its language does not exist";
    return NULL;
}

static int index_check(struct mx_packed_file *packed)
{
    char fault[160];
    const struct mx_packed_header *const header = &packed->header;
    const uint64_t ids_bytes = header->sections[MX_PACKED_IDS].bytes;
    uint64_t at = 0;
    uint32_t good = 0;
    packed->id_offsets = mx_alloc(header->record_count, sizeof *packed->id_offsets);
    if (packed->id_offsets == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t row = 0; row < header->record_count; row++) {
        const char *wrong = entry_fault(packed, row);
        const uint32_t bytes = packed->index[row].id_bytes;
        if (wrong == NULL && (bytes > ids_bytes - at || packed->ids[at + bytes - 1] != '\0'))
            wrong = "its id does not fit the list of ids";
        if (wrong != NULL) {
            snprintf(fault, sizeof fault, "row %u of the index: %s", row, wrong);
            return damaged(packed, fault);
        }
        packed->id_offsets[row] = (uint32_t)at;
        at += bytes;
        good += packed->index[row].reject == 0;
    }
    if (at != ids_bytes) return damaged(packed, "its list of ids does not fit the index");
    return good == header->good_count ? 0 : damaged(packed, "its number of good rows is wrong");
}

/* The rest of opening, once the file can be read. */
static int contents_check(struct mx_packed_file *packed)
{
    int rc = 0;
    MX_TRY(header_check(packed));
    MX_TRY(sections_read(packed));
    MX_TRY(metadata_read(packed));
    MX_TRY(index_check(packed));
out:
    return rc;
}

static int file_open(const char *path, struct mx_packed_file *packed)
{
    struct stat status;
    /* O_NONBLOCK: a pipe is refused without waiting for its writer. */
    packed->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (packed->fd < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return MX_FAIL(MX_ERR_NOT_FOUND, "make it with 'myxtts prepare'", "there is no packed corpus %s",
                           packed->name);
        return MX_FAIL(MX_ERR_IO, "check that the file may be read", "cannot open %s: %s", packed->name,
                       strerror(errno));
    }
    if (fstat(packed->fd, &status) != 0)
        return MX_FAIL(MX_ERR_IO, "check the disk", "cannot read %s: %s", packed->name, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return MX_FAIL(MX_ERR_FORMAT, "name an ordinary file", "%s is not an ordinary file", packed->name);
    packed->bytes = (size_t)status.st_size;
    packed->changed = status.st_mtim;
    return 0;
}

int mx_packed_open(const char *path, struct mx_packed_file **out)
{
    int rc = 0;
    struct mx_packed_file *packed = mx_alloc(1, sizeof *packed);
    *out = NULL;
    if (packed == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_string_quote(packed->name, sizeof packed->name, path);
    packed->fd = -1;
    MX_TRY(file_open(path, packed));
    MX_TRY(contents_check(packed));
    *out = packed;
    packed = NULL;
out:
    mx_packed_close(packed);
    return rc;
}

int mx_packed_open_memory(const void *data, size_t bytes, struct mx_packed_file **out)
{
    int rc = 0;
    struct mx_packed_file *packed = mx_alloc(1, sizeof *packed);
    *out = NULL;
    if (packed == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    snprintf(packed->name, sizeof packed->name, "in memory");
    packed->fd = -1;
    packed->data = data;
    packed->bytes = bytes;
    MX_TRY(contents_check(packed));
    *out = packed;
    packed = NULL;
out:
    mx_packed_close(packed);
    return rc;
}

void mx_packed_close(struct mx_packed_file *packed)
{
    if (packed == NULL) return;
    mx_vocabulary_destroy(packed->vocabulary);
    cJSON_Delete(packed->metadata);
    mx_free(packed->speakers);
    mx_free(packed->id_offsets);
    mx_free(packed->index);
    mx_free(packed->ids);
    mx_free(packed->metadata_text);
    if (packed->fd >= 0) close(packed->fd);
    mx_free(packed);
}

int mx_packed_detect(const char *path, bool *found)
{
    int rc = 0;
    char magic[8];
    struct stat status;
    struct mx_packed_file packed = {.bytes = sizeof magic};
    *found = false;
    mx_string_quote(packed.name, sizeof packed.name, path);
    packed.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (packed.fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return 0;
    if (packed.fd < 0)
        return MX_FAIL(MX_ERR_IO, "check that it may be read", "cannot open %s: %s", packed.name, strerror(errno));
    if (fstat(packed.fd, &status) == 0 && S_ISREG(status.st_mode)) {
        const char *const fault = bytes_read(&packed, 0, magic, sizeof magic);
        if (fault == unreadable) MX_TRY(MX_ERR_IO);
        *found = fault == NULL && memcmp(magic, MX_PACKED_MAGIC, sizeof magic) == 0;
    }
out:
    close(packed.fd);
    return rc;
}

/* ---- asking ---- */

const struct mx_packed_header *mx_packed_header(const struct mx_packed_file *packed)
{
    return &packed->header;
}

const struct mx_packed_record *mx_packed_record(const struct mx_packed_file *packed, uint32_t row)
{
    return &packed->index[row];
}

const char *mx_packed_id(const struct mx_packed_file *packed, uint32_t row)
{
    return packed->ids + packed->id_offsets[row];
}

const char *mx_packed_metadata(const struct mx_packed_file *packed, size_t *bytes)
{
    *bytes = (size_t)packed->header.sections[MX_PACKED_META].bytes;
    return packed->metadata_text;
}

const struct mx_vocabulary *mx_packed_vocabulary(const struct mx_packed_file *packed)
{
    return packed->vocabulary;
}

uint32_t mx_packed_speaker_count(const struct mx_packed_file *packed)
{
    return packed->speaker_count;
}

const char *mx_packed_speaker(const struct mx_packed_file *packed, uint32_t speaker)
{
    return packed->speakers[speaker];
}

uint64_t mx_packed_largest(const struct mx_packed_file *packed)
{
    uint64_t most = 0;
    for (uint32_t row = 0; row < packed->header.record_count; row++)
        if (packed->index[row].payload_bytes > most) most = packed->index[row].payload_bytes;
    return most + sizeof(struct mx_packed_record);
}

int mx_packed_get(const struct mx_packed_file *packed, uint32_t row, struct mx_packed_buffer *buffer,
                  struct mx_packed_view *view)
{
    int rc = 0;
    if (row >= packed->header.record_count)
        MX_RAISE(MX_ERR_ARGUMENT, NULL, "the packed corpus %s has %u rows; row %u was asked for", packed->name,
                 packed->header.record_count, row);
    const struct mx_packed_record *const record = &packed->index[row];
    MX_TRY(mx_packed_buffer_reserve(buffer, sizeof *record + record->payload_bytes));
    const char *fault = bytes_read(packed, record->payload_offset - sizeof *record, buffer->data, buffer->bytes);
    const unsigned char *const entry = (const unsigned char *)record; /* the struct has no padding */
    if (fault == NULL && memcmp(buffer->data, entry, sizeof *record) != 0) fault = "its head is not that of the index";
    if (fault == NULL)
        fault = mx_packed_payload_fault(&packed->header, record, buffer->data + sizeof *record,
                                        (uint32_t)mx_vocabulary_size(packed->vocabulary), true, view);
    if (fault == NULL && strcmp(view->id, mx_packed_id(packed, row)) != 0) fault = "its id is not that of the index";
    if (fault != NULL) fault = fault_explain(packed, fault);
    if (fault == unreadable) MX_TRY(MX_ERR_IO);
    if (fault != NULL) {
        char id[96];
        MX_RAISE(MX_ERR_FORMAT, hint_again, "record %u (%s) of the packed corpus %s cannot be used: %s", row,
                 mx_string_quote(id, sizeof id, mx_packed_id(packed, row)), packed->name, fault);
    }
out:
    return rc;
}

int mx_packed_verify(const struct mx_packed_file *packed)
{
    int rc = 0;
    struct mx_packed_buffer buffer = {0};
    struct mx_packed_view view;
    for (uint32_t row = 0; row < packed->header.record_count; row++) MX_TRY(mx_packed_get(packed, row, &buffer, &view));
out:
    mx_packed_buffer_release(&buffer);
    return rc;
}
