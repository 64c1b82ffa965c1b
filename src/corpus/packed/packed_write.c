/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Making packed corpora: a journal that survives a kill at any moment, and finishing it as a packed file. packed.h
 * describes the bytes.
 *
 * A record is appended by one write after the last good one; a kill leaves at most one truncated record, which is
 * detected by the hash of its head, its size or the hash of its payload. Continuing begins with cutting the file there.
 */
#include "corpus/packed/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 300

struct mx_packed_writer {
    char *path, *part;
    char name[QUOTED_BYTES]; /* of `path`, quoted, for messages */
    int fd;
    struct mx_packed_plan plan;
    struct mx_packed_header header; /* of the journal, until the file is finished */
    /* Protects what is below, and the bytes of the file from `end` on: an appending thread holds it until `end` and
     * `heads` include the new record. Records before `end` are never changed, so they are read without it. */
    pthread_mutex_t lock;
    uint64_t end;                   /* where the next record begins */
    struct mx_packed_record *heads; /* of each row; magic 0: not there */
    bool *seen;                     /* of each row: its payload was written or checked since the journal was opened */
    uint32_t count;                 /* of the rows that are there */
};

/* ---- files ---- */

static int write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    const unsigned char *at = data;
    while (bytes > 0) {
        const ssize_t done = pwrite(fd, at, bytes, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return -1;
        at += done;
        offset += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return 0;
}

/* *whole: the bytes are all there. MX_ERR_IO: the disk does not give them, which says nothing about what they are. */
static int read_at(const struct mx_packed_writer *writer, void *data, size_t bytes, uint64_t offset, bool *whole)
{
    unsigned char *at = data;
    *whole = false;
    while (bytes > 0) {
        const ssize_t done = pread(writer->fd, at, bytes, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0)
            return MX_FAIL(MX_ERR_IO, "nothing is lost: check the disk, then run the same command again to continue",
                           "cannot read %s" MX_PACKED_SUFFIX ": %s", writer->name, strerror(errno));
        if (done == 0) return 0;
        at += done;
        offset += (uint64_t)done;
        bytes -= (size_t)done;
    }
    *whole = true;
    return 0;
}

/* The error of a failed write, by errno. */
static int write_failed(const struct mx_packed_writer *writer)
{
    const bool full = errno == ENOSPC || errno == EDQUOT;
    return MX_FAIL(MX_ERR_IO, "nothing is lost: free some space and run the same command again to continue",
                   full ? "the disk of %s is full: %s" : "cannot write %s: %s", writer->name, strerror(errno));
}

/* The rename is durable once the folder is on the disk; file systems that cannot flush folders say EINVAL. */
static int folder_flush(const struct mx_packed_writer *writer)
{
    int rc = 0;
    const char *const slash = strrchr(writer->path, '/');
    char *const folder = slash == NULL           ? mx_strdup(".")
                         : slash == writer->path ? mx_strdup("/")
                                                 : mx_strndup(writer->path, (size_t)(slash - writer->path));
    if (folder == NULL) return MX_ERR_NO_MEMORY;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        rc = MX_FAIL(MX_ERR_IO, "the file is whole, but a power cut now could lose it",
                     "cannot flush the folder of %s: %s", writer->name, strerror(errno));
    if (fd >= 0) close(fd);
    mx_free(folder);
    return rc;
}

/* Opens and locks the journal. If another program finishes the file between the two, the name is gone or another file;
 * then the next round looks again. */
static int journal_lock(struct mx_packed_writer *writer)
{
    struct stat status, named;
    if (stat(writer->path, &status) == 0 && !S_ISREG(status.st_mode))
        return MX_FAIL(MX_ERR_IO, "name an ordinary file", "%s exists and is not an ordinary file", writer->name);
    for (int round = 0; round < 10; round++) {
        /* O_NOFOLLOW: nothing is written through a link; O_NONBLOCK: never wait for the reader of a pipe. */
        writer->fd = open(writer->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (writer->fd < 0 && errno == ELOOP)
            return MX_FAIL(MX_ERR_IO, "remove it, or choose another file",
                           "%s" MX_PACKED_SUFFIX " is a symbolic link, which is not written through", writer->name);
        if (writer->fd < 0)
            return MX_FAIL(MX_ERR_IO, "check that the folder exists and may be written to",
                           "cannot make %s" MX_PACKED_SUFFIX ": %s", writer->name, strerror(errno));
        if (fstat(writer->fd, &status) != 0 || !S_ISREG(status.st_mode))
            return MX_FAIL(MX_ERR_IO, "remove it, or choose another file",
                           "%s" MX_PACKED_SUFFIX " is not an ordinary file", writer->name);
        if (flock(writer->fd, LOCK_EX | LOCK_NB) != 0) break;
        if (fstat(writer->fd, &status) == 0 && stat(writer->part, &named) == 0 && status.st_ino == named.st_ino &&
            status.st_dev == named.st_dev)
            return 0;
        close(writer->fd);
        writer->fd = -1;
    }
    return MX_FAIL(MX_ERR_IO, "wait until it is done, or choose another file",
                   "another program is preparing %s at this moment", writer->name);
}

/* ---- going on ---- */

static void header_seal(struct mx_packed_header *header)
{
    header->hash = mx_packed_hash(header, offsetof(struct mx_packed_header, hash));
}

static void header_fill(const struct mx_packed_plan *plan, const char *metadata, uint64_t options_hash,
                        struct mx_packed_header *header)
{
    *header = (struct mx_packed_header){
        .version = MX_PACKED_VERSION,
        .endian = MX_PACKED_ENDIAN,
        .state = MX_PACKED_JOURNAL,
        .kind = plan->kind,
        .record_bytes = sizeof(struct mx_packed_record),
        .section_count = MX_PACKED_SECTIONS,
        .record_count = plan->record_count,
        .options_hash = options_hash,
        .source_hash = plan->source_hash,
        .tensor_count = plan->tensor_count,
    };
    memcpy(header->magic, MX_PACKED_MAGIC, sizeof header->magic);
    for (uint32_t i = 0; i < plan->tensor_count; i++) header->tensors[i] = plan->tensors[i];
    const size_t bytes = strlen(metadata);
    header->sections[MX_PACKED_META] =
        (struct mx_packed_section){.offset = sizeof *header, .bytes = bytes, .hash = mx_packed_hash(metadata, bytes)};
    header->sections[MX_PACKED_RECORDS].offset = mx_packed_align(sizeof *header + bytes);
    header_seal(header);
}

/* Whether it was made with the same options and metadata. The keys show which rows are still the same. */
static bool header_fits(const struct mx_packed_header *found, const struct mx_packed_header *wanted)
{
    return found->kind == wanted->kind && found->options_hash == wanted->options_hash &&
           found->tensor_count == wanted->tensor_count &&
           memcmp(found->tensors, wanted->tensors, sizeof found->tensors) == 0 &&
           memcmp(&found->sections[MX_PACKED_META], &wanted->sections[MX_PACKED_META], sizeof found->sections[0]) == 0;
}

/* Why a journal with this header cannot be continued, or NULL; then the header is the one that it was begun with. */
static const char *header_fault(struct mx_packed_writer *writer, const struct mx_packed_header *found)
{
    struct mx_packed_header other;
    struct mx_packed_plan *const plan = &writer->plan;
    if (mx_packed_header_fault(found) != NULL) return "its header is damaged";
    if (header_fits(found, &writer->header)) return NULL;
    if (plan->other_metadata == NULL) return "it was begun with other options";
    header_fill(plan, plan->other_metadata, plan->other_options_hash, &other);
    if (!header_fits(found, &other)) return "it was begun with other options";
    if (found->source_hash != plan->source_hash) return "the corpus has changed since it was begun";
    writer->header = other;
    plan->metadata = plan->other_metadata;
    return NULL;
}

/* *fits: the journal is continued. Otherwise it is discarded, and the reason is logged. */
static int journal_check(struct mx_packed_writer *writer, bool *fits)
{
    int rc = 0;
    bool whole;
    struct mx_packed_header found;
    MX_TRY(read_at(writer, &found, sizeof found, 0, &whole));
    const char *const fault = whole ? header_fault(writer, &found) : "its header is damaged";
    *fits = fault == NULL;
    if (fault != NULL && lseek(writer->fd, 0, SEEK_END) > 0)
        mx_info("%s" MX_PACKED_SUFFIX " is started over: %s", writer->name, fault);
out:
    return rc;
}

/* Collects the records that are there, up to the first that is cut off or damaged. */
static int journal_scan(struct mx_packed_writer *writer, enum mx_packed_resume resume)
{
    int rc = 0;
    struct mx_packed_buffer buffer = {0};
    struct mx_packed_view view;
    struct stat status;
    if (fstat(writer->fd, &status) != 0)
        MX_RAISE(MX_ERR_IO, "check the disk", "cannot read %s" MX_PACKED_SUFFIX ": %s", writer->name, strerror(errno));
    const uint64_t size = (uint64_t)status.st_size;
    for (;;) {
        bool whole;
        struct mx_packed_record head;
        MX_TRY(read_at(writer, &head, sizeof head, writer->end, &whole));
        if (!whole) break;
        if (mx_packed_record_fault(&writer->header, &head) != NULL) break;
        if (head.payload_offset != writer->end + sizeof head || head.payload_bytes > size - head.payload_offset) break;
        const bool same = head.key == writer->plan.keys[head.row];
        if (resume == MX_PACKED_IN_ORDER) {
            if (!same || head.row != writer->count) break;
            MX_TRY(mx_packed_buffer_reserve(&buffer, head.payload_bytes));
            MX_TRY(read_at(writer, buffer.data, buffer.bytes, head.payload_offset, &whole));
            if (!whole) break;
            if (mx_packed_payload_fault(&writer->header, &head, buffer.data, writer->plan.vocabulary_size, true,
                                        &view) != NULL)
                break;
        }
        if (same) {
            if (writer->heads[head.row].magic == 0) writer->count++;
            writer->heads[head.row] = head;
            writer->seen[head.row] = resume == MX_PACKED_IN_ORDER;
        }
        writer->end += sizeof head + head.payload_bytes;
    }
out:
    mx_packed_buffer_release(&buffer);
    return rc;
}

int mx_packed_writer_open(const char *path, const struct mx_packed_plan *plan, enum mx_packed_resume resume,
                          struct mx_packed_writer **out)
{
    int rc = 0;
    bool goes_on = false;
    struct mx_packed_writer *writer = mx_alloc(1, sizeof *writer);
    *out = NULL;
    if (writer == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    writer->fd = -1;
    pthread_mutex_init(&writer->lock, NULL);
    writer->plan = *plan;
    mx_string_quote(writer->name, sizeof writer->name, path);
    writer->path = mx_strdup(path);
    writer->part = mx_format("%s" MX_PACKED_SUFFIX, path);
    writer->heads = mx_alloc(plan->record_count, sizeof *writer->heads);
    writer->seen = mx_alloc(plan->record_count, sizeof *writer->seen);
    if (writer->path == NULL || writer->part == NULL || writer->heads == NULL || writer->seen == NULL)
        MX_TRY(MX_ERR_NO_MEMORY);
    header_fill(plan, plan->metadata, plan->options_hash, &writer->header);
    const char *const fault = mx_packed_header_fault(&writer->header);
    if (fault != NULL) MX_RAISE(MX_ERR_ARGUMENT, NULL, "cannot plan the packed corpus %s: %s", writer->name, fault);
    MX_TRY(journal_lock(writer));
    if (resume != MX_PACKED_FRESH) MX_TRY(journal_check(writer, &goes_on));
    writer->end = writer->header.sections[MX_PACKED_RECORDS].offset;
    if (goes_on) MX_TRY(journal_scan(writer, resume));
    /* Shorten first: a kill between the two leaves a journal that is empty or good, never one with foreign records. */
    const uint64_t kept = writer->count > 0 ? writer->end : 0;
    if (ftruncate(writer->fd, (off_t)kept) != 0 ||
        write_at(writer->fd, writer->plan.metadata, strlen(writer->plan.metadata), sizeof writer->header) != 0 ||
        write_at(writer->fd, &writer->header, sizeof writer->header, 0) != 0)
        MX_TRY(write_failed(writer));
    if (writer->count == 0) writer->end = writer->header.sections[MX_PACKED_RECORDS].offset;
    *out = writer;
    writer = NULL;
out:
    mx_packed_writer_close(writer);
    return rc;
}

void mx_packed_writer_close(struct mx_packed_writer *writer)
{
    if (writer == NULL) return;
    if (writer->fd >= 0) close(writer->fd);
    pthread_mutex_destroy(&writer->lock);
    mx_free(writer->path);
    mx_free(writer->part);
    mx_free(writer->heads);
    mx_free(writer->seen);
    mx_free(writer);
}

/* ---- records ---- */

const struct mx_packed_header *mx_packed_writer_header(const struct mx_packed_writer *writer)
{
    return &writer->header;
}

uint32_t mx_packed_writer_count(struct mx_packed_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    const uint32_t count = writer->count;
    pthread_mutex_unlock(&writer->lock);
    return count;
}

uint64_t mx_packed_writer_bytes(struct mx_packed_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    const uint64_t bytes = writer->end;
    pthread_mutex_unlock(&writer->lock);
    return bytes;
}

bool mx_packed_writer_head(struct mx_packed_writer *writer, uint32_t row, struct mx_packed_record *head)
{
    pthread_mutex_lock(&writer->lock);
    *head = writer->heads[row];
    pthread_mutex_unlock(&writer->lock);
    return head->magic != 0;
}

int mx_packed_writer_append(struct mx_packed_writer *writer, struct mx_packed_buffer *buffer)
{
    int rc = 0;
    struct mx_packed_record *const head = (struct mx_packed_record *)(void *)buffer->data;
    pthread_mutex_lock(&writer->lock);
    head->payload_offset = writer->end + sizeof *head;
    head->head_hash = mx_packed_hash(head, offsetof(struct mx_packed_record, head_hash));
    const char *const fault = mx_packed_record_fault(&writer->header, head);
    if (fault != NULL) MX_RAISE(MX_ERR_INTERNAL, NULL, "row %u cannot be written: %s", head->row, fault);
    if (write_at(writer->fd, buffer->data, buffer->bytes, writer->end) != 0) {
        rc = write_failed(writer);
        if (ftruncate(writer->fd, (off_t)writer->end) != 0)
            mx_warn("the end of %s" MX_PACKED_SUFFIX " could not be cut off; it is cut off when it is opened again",
                    writer->name);
        goto out;
    }
    writer->end += buffer->bytes;
    if (writer->heads[head->row].magic == 0) writer->count++;
    writer->heads[head->row] = *head;
    writer->seen[head->row] = true;
out:
    pthread_mutex_unlock(&writer->lock);
    return rc;
}

int mx_packed_writer_read(struct mx_packed_writer *writer, uint32_t row, struct mx_packed_buffer *buffer,
                          struct mx_packed_record *head, struct mx_packed_view *view)
{
    int rc = 0;
    if (!mx_packed_writer_head(writer, row, head)) return MX_ERR_NOT_FOUND;
    MX_TRY(mx_packed_buffer_reserve(buffer, head->payload_bytes));
    bool whole;
    const char *fault = "it ends too early";
    MX_TRY(read_at(writer, buffer->data, buffer->bytes, head->payload_offset, &whole));
    if (whole)
        fault = mx_packed_payload_fault(&writer->header, head, buffer->data, writer->plan.vocabulary_size, true, view);
    pthread_mutex_lock(&writer->lock);
    if (writer->heads[row].payload_offset == head->payload_offset && writer->heads[row].magic != 0) {
        writer->seen[row] = fault == NULL;
        if (fault != NULL) {
            writer->heads[row].magic = 0;
            writer->count--;
        }
    }
    pthread_mutex_unlock(&writer->lock);
    if (fault == NULL) goto out;
    rc = MX_FAIL(MX_ERR_FORMAT, "check the disk", "row %u of %s" MX_PACKED_SUFFIX " is damaged: %s", row, writer->name,
                 fault);
out:
    return rc;
}

/* ---- the end ---- */

/* What was kept of an earlier journal may have been damaged with the machine that wrote it; whatever gets the name of a
 * finished file was read whole. */
static int kept_check(struct mx_packed_writer *writer)
{
    int rc = 0;
    struct mx_packed_buffer buffer = {0};
    struct mx_packed_record head;
    struct mx_packed_view view;
    for (uint32_t row = 0; row < writer->plan.record_count; row++) {
        pthread_mutex_lock(&writer->lock);
        const bool unseen = writer->heads[row].magic != 0 && !writer->seen[row];
        pthread_mutex_unlock(&writer->lock);
        if (unseen) MX_TRY(mx_packed_writer_read(writer, row, &buffer, &head, &view));
    }
out:
    mx_packed_buffer_release(&buffer);
    return rc;
}

/* The ids of all rows, read from their payloads. */
static int ids_collect(const struct mx_packed_writer *writer, struct mx_packed_buffer *ids)
{
    int rc = 0;
    bool whole;
    uint64_t bytes = 0, at = 0;
    for (uint32_t row = 0; row < writer->plan.record_count; row++) bytes += writer->heads[row].id_bytes;
    MX_TRY(mx_packed_buffer_reserve(ids, bytes));
    for (uint32_t row = 0; row < writer->plan.record_count; row++) {
        const struct mx_packed_record *const head = &writer->heads[row];
        MX_TRY(read_at(writer, ids->data + at, head->id_bytes, head->payload_offset, &whole));
        if (!whole)
            MX_RAISE(MX_ERR_IO, "check the disk", "row %u of %s" MX_PACKED_SUFFIX " is gone", row, writer->name);
        at += head->id_bytes;
    }
out:
    return rc;
}

int mx_packed_writer_finish(struct mx_packed_writer *writer)
{
    int rc = 0;
    struct mx_packed_buffer ids = {0};
    struct mx_packed_header header = writer->header;
    const uint64_t index_bytes = (uint64_t)writer->plan.record_count * sizeof *writer->heads;
    rc = kept_check(writer);
    if (rc < 0) return rc;
    pthread_mutex_lock(&writer->lock);
    if (writer->count != writer->plan.record_count)
        MX_RAISE(MX_ERR_INTERNAL, NULL, "%u of %u rows of %s are missing", writer->plan.record_count - writer->count,
                 writer->plan.record_count, writer->name);
    MX_TRY(ids_collect(writer, &ids));
    struct mx_packed_section *const sections = header.sections;
    sections[MX_PACKED_RECORDS].bytes = writer->end - sections[MX_PACKED_RECORDS].offset;
    sections[MX_PACKED_INDEX] = (struct mx_packed_section){
        .offset = writer->end, .bytes = index_bytes, .hash = mx_packed_hash(writer->heads, (size_t)index_bytes)};
    sections[MX_PACKED_IDS] = (struct mx_packed_section){
        .offset = writer->end + index_bytes, .bytes = ids.bytes, .hash = mx_packed_hash(ids.data, ids.bytes)};
    header.state = MX_PACKED_FINISHED;
    header.file_bytes = mx_packed_align(sections[MX_PACKED_IDS].offset + ids.bytes);
    for (uint32_t row = 0; row < writer->plan.record_count; row++) header.good_count += writer->heads[row].reject == 0;
    header_seal(&header);
    /* The header marks the file as finished only when everything else is on the disk. */
    if (write_at(writer->fd, writer->heads, (size_t)index_bytes, sections[MX_PACKED_INDEX].offset) != 0 ||
        write_at(writer->fd, ids.data, ids.bytes, sections[MX_PACKED_IDS].offset) != 0 ||
        ftruncate(writer->fd, (off_t)header.file_bytes) != 0 || fsync(writer->fd) != 0 ||
        write_at(writer->fd, &header, sizeof header, 0) != 0 || fsync(writer->fd) != 0)
        MX_TRY(write_failed(writer));
    if (rename(writer->part, writer->path) != 0)
        MX_RAISE(MX_ERR_IO, "check that the folder may be written to; the same command tries it again",
                 "cannot give %s its name: %s", writer->name, strerror(errno));
    writer->header = header;
    MX_TRY(folder_flush(writer));
out:
    pthread_mutex_unlock(&writer->lock);
    mx_packed_buffer_release(&ids);
    return rc;
}
