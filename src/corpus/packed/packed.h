/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Packed corpora: one file with everything that training needs from a corpus: decoded audio or finished features, with
 * tokens, texts, speakers and vocabulary.
 *
 * Bytes. All numbers are little-endian; all offsets are from the start of the file and multiples of 64; all gaps are
 * zero. Hashes are XXH3 of 64 bits with seed 0, so every bit of the file is covered by one of them.
 *
 *     0        header: struct mx_packed_header, 512 bytes
 *     512      metadata: JSON (pack_spec.h), the section META
 *     …        one after the other, in any order of rows: a record head (struct mx_packed_record, 128 bytes) and its
 *              payload; the section RECORDS
 *     …        index: the heads of all rows once more, in the order of rows; the section INDEX
 *     …        ids of all rows, each with a zero byte, in the order of rows; the section IDS
 *
 * Payload of a record, each part begins at a multiple of 64 bytes:
 *
 *     id, text as written, text as spoken, detail: each with a zero byte, one after the other
 *     tokens: int32 × token_count
 *     kind audio:    int16 × samples; the sample is the number × scale (the largest one of a record is ± 32767)
 *     kind features: each tensor of the header: float × frames × columns, frame after frame
 *
 * A row that was rejected has a record too, with its reason and detail, but without audio and tensors; tokens are there
 * if its text was good. If a row has several records (a damaged one was replaced), the index says which one counts.
 *
 * While it is being made, the file is called FILE.part and its header says so (`state`); index and ids are missing. It
 * is a journal: records are appended whole, and a writer that opens it again continues after the last good one. At the
 * end index and ids are appended, the header is rewritten and the file is renamed to FILE. So FILE is either complete
 * or absent, and its bytes depend only on the corpus and the order of appending.
 *
 * Audio in 16 bits: the error is at most half of `scale`, that is 96 dB below the largest sample of the utterance,
 * which is the precision of a 16-bit recording; 24 hours take 3.8 GB.
 *
 * Memory: an open file owns copies of header, metadata, index and ids, checked when it is opened. A record is read into
 * a buffer of the caller and checked each time; its view points there. Any thread may read. A file that is shortened or
 * rewritten while it is open causes errors that say so, and nothing worse.
 */
#ifndef MX_CORPUS_PACKED_H
#define MX_CORPUS_PACKED_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corpus/reject.h"
#include "text/vocabulary.h"

#define MX_PACKED_MAGIC        "MXPACKED" /* 8 bytes, without the zero */
#define MX_PACKED_VERSION      UINT32_C(1)
#define MX_PACKED_ENDIAN       UINT32_C(0x0A0B0C0D) /* the bytes are 0D 0C 0B 0A */
#define MX_PACKED_RECORD_MAGIC UINT32_C(0x4352584D) /* "MXRC" */
#define MX_PACKED_ALIGNMENT    64
#define MX_PACKED_TENSORS      4
#define MX_PACKED_SUFFIX       ".part" /* of the journal */

/* Limits for values that are accepted from a file. */
#define MX_PACKED_RECORDS_MAX  (UINT32_C(1) << 26)
#define MX_PACKED_METADATA_MAX (UINT64_C(64) << 20)
#define MX_PACKED_PAYLOAD_MAX  (UINT64_C(1) << 32)

enum mx_packed_state { MX_PACKED_JOURNAL = 1, MX_PACKED_FINISHED = 2 };
enum mx_packed_kind { MX_PACKED_AUDIO = 1, MX_PACKED_FEATURES = 2 };
enum mx_packed_section_type { MX_PACKED_META, MX_PACKED_RECORDS, MX_PACKED_INDEX, MX_PACKED_IDS, MX_PACKED_SECTIONS };
enum mx_packed_flag { MX_PACKED_VALIDATION = 1 }; /* the manifest lists the row for validation */

struct mx_packed_tensor {
    char name[24];    /* zero-padded: "mel" */
    uint32_t columns; /* numbers of one frame */
    uint32_t zero;
};

struct mx_packed_section {
    uint64_t offset, bytes;
    uint64_t hash; /* of the bytes; 0 for RECORDS, which have their own */
    uint64_t zero;
};

struct mx_packed_header {
    char magic[8];
    uint32_t version, endian;
    uint32_t state; /* enum mx_packed_state */
    uint32_t kind;  /* enum mx_packed_kind */
    uint32_t record_bytes, section_count;
    uint32_t record_count; /* rows of the manifest, rejected ones too */
    uint32_t good_count;   /* rows that can be used; 0 in a journal */
    uint64_t file_bytes;   /* 0 in a journal */
    uint64_t options_hash; /* of the options in the metadata */
    uint64_t source_hash;  /* of the keys of all rows */
    uint32_t tensor_count, zero;
    struct mx_packed_tensor tensors[MX_PACKED_TENSORS];
    struct mx_packed_section sections[MX_PACKED_SECTIONS]; /* zero where a journal has none yet */
    char reserved[512 - 72 - 32 * MX_PACKED_TENSORS - 32 * MX_PACKED_SECTIONS - 8]; /* zero */
    uint64_t hash;                                                                  /* of the 504 bytes before */
};
static_assert(sizeof(struct mx_packed_header) == 512, "the header has 512 bytes");

struct mx_packed_record {
    uint32_t magic;
    uint32_t row;                        /* of the manifest's utterances */
    uint64_t payload_offset;             /* the head stands right before */
    uint64_t payload_bytes;              /* with the zeros at the end */
    uint64_t key;                        /* hash of the row as it was when read, see pack_spec.h */
    uint64_t source_bytes;               /* size of the recording */
    int64_t source_mtime_ns;             /* its time of last change */
    uint64_t payload_hash;               /* of the payload */
    uint32_t reject;                     /* enum mx_reject; 0: the row is good */
    uint32_t flags;                      /* enum mx_packed_flag */
    uint32_t source, line;               /* where it stands in the manifest */
    uint32_t speaker;                    /* index in "speakers" of the metadata */
    uint32_t language;                   /* number in the vocabulary */
    uint32_t samples;                    /* after trimming; 0 when rejected */
    uint32_t samples_bound;              /* upper bound from the recording's file, before trimming; 0: not usable */
    uint32_t frames;                     /* kind features; otherwise 0 */
    float scale;                         /* kind audio; otherwise 0 */
    uint32_t token_count;                /* BOS and EOS included */
    uint32_t id_bytes, text_bytes;       /* with their zero bytes */
    uint32_t spoken_bytes, detail_bytes; /* likewise */
    uint32_t zero;
    uint64_t head_hash; /* of the 120 bytes before */
};
static_assert(sizeof(struct mx_packed_record) == 128, "a record head has 128 bytes");

/* ---- one record in memory (packed_record.c) ---- */

/* The contents of a record, read or to be written. Strings end in a zero byte. */
struct mx_packed_view {
    const char *id, *text, *spoken, *detail;
    const int32_t *tokens;
    const int16_t *audio;                    /* kind audio, of a view */
    const float *samples;                    /* kind audio, to make one from */
    const float *tensors[MX_PACKED_TENSORS]; /* kind features */
};

/* A record to be written: head and payload in one piece. {0} is empty; it grows and is reused. */
struct mx_packed_buffer {
    unsigned char *data;
    size_t bytes, capacity;
};

/* Fills the buffer. These members of `head` are used: row, key, source_bytes, source_mtime_ns, reject, flags, source,
 * line, speaker, language, samples, samples_bound, frames, token_count; the rest is computed (payload_offset and
 * head_hash when the record is appended). */
int mx_packed_encode(const struct mx_packed_header *header, const struct mx_packed_record *head,
                     const struct mx_packed_view *view, struct mx_packed_buffer *buffer);
/* Makes room for `bytes` and sets the size to that; old contents may be lost. */
int mx_packed_buffer_reserve(struct mx_packed_buffer *buffer, uint64_t bytes);
void mx_packed_buffer_release(struct mx_packed_buffer *buffer);

uint64_t mx_packed_hash(const void *data, size_t bytes);
uint64_t mx_packed_align(uint64_t bytes); /* rounded up to a multiple of 64 */
/* Returns what is wrong with a head or header, or NULL. Only the struct itself is checked. */
const char *mx_packed_header_fault(const struct mx_packed_header *header);
const char *mx_packed_record_fault(const struct mx_packed_header *header, const struct mx_packed_record *record);
/* Sets the view from a payload that belongs to a good head; returns what is wrong with it, or NULL. */
const char *mx_packed_payload_fault(const struct mx_packed_header *header, const struct mx_packed_record *record,
                                    const unsigned char *payload, uint32_t vocabulary_size, bool check_hash,
                                    struct mx_packed_view *view);
/* Audio of a record as floats. */
void mx_packed_samples(const struct mx_packed_record *record, const struct mx_packed_view *view, float *out);

/* ---- a finished file (packed.c) ---- */

struct mx_packed_file;

/* MX_ERR_NOT_FOUND if there is no file; MX_ERR_FORMAT, naming the fault, if it is of another kind, unfinished,
 * truncated or damaged. Reads header, metadata, index and ids, but no records. */
int mx_packed_open(const char *path, struct mx_packed_file **out);
/* The same in memory (aligned to 8 bytes), which is borrowed. For tests and fuzzing. */
int mx_packed_open_memory(const void *data, size_t bytes, struct mx_packed_file **out);
void mx_packed_close(struct mx_packed_file *packed); /* NULL is fine */
/* Whether there is a file that begins like a packed corpus. MX_ERR_IO: there is something, but it cannot be read. */
int mx_packed_detect(const char *path, bool *found);

const struct mx_packed_header *mx_packed_header(const struct mx_packed_file *packed);
const struct mx_packed_record *mx_packed_record(const struct mx_packed_file *packed, uint32_t row);
const char *mx_packed_id(const struct mx_packed_file *packed, uint32_t row);
/* JSON without a zero byte at its end. */
const char *mx_packed_metadata(const struct mx_packed_file *packed, size_t *bytes);
const struct mx_vocabulary *mx_packed_vocabulary(const struct mx_packed_file *packed);
uint32_t mx_packed_speaker_count(const struct mx_packed_file *packed);
const char *mx_packed_speaker(const struct mx_packed_file *packed, uint32_t speaker);

/* Bytes that the buffer of mx_packed_get needs for the largest row. */
uint64_t mx_packed_largest(const struct mx_packed_file *packed);
/* Reads the record of a row into the buffer, which the view points into, and checks it: MX_ERR_FORMAT names a damaged
 * record. */
int mx_packed_get(const struct mx_packed_file *packed, uint32_t row, struct mx_packed_buffer *buffer,
                  struct mx_packed_view *view);
/* Checks all records; fails at the first damaged one. */
int mx_packed_verify(const struct mx_packed_file *packed);

/* ---- making one (packed_write.c) ---- */

/* What is to be made; borrowed while the writer is open. */
struct mx_packed_plan {
    enum mx_packed_kind kind;
    const struct mx_packed_tensor *tensors;
    uint32_t tensor_count;
    const char *metadata; /* JSON text */
    uint32_t record_count;
    uint32_t vocabulary_size;
    const uint64_t *keys; /* of each row */
    uint64_t options_hash, source_hash;
    /* Alternative metadata that describes exactly the same records, provided that all rows are the same: a journal
     * begun with it is continued, and the file keeps it. NULL: there is none. */
    const char *other_metadata;
    uint64_t other_options_hash;
};

struct mx_packed_writer;

/* What is kept of an existing journal that belongs to the plan. */
enum mx_packed_resume {
    MX_PACKED_FRESH,     /* nothing */
    MX_PACKED_IN_ORDER,  /* rows 0, 1, 2 … up to the first missing or damaged one, checked by their hashes */
    MX_PACKED_ANY_ORDER, /* all rows; payloads are checked when they are read, at the latest when finishing */
};

/* Opens or makes PATH.part. MX_ERR_IO when it cannot be made or read, which changes nothing in it, or another program has it
 * open. */
int mx_packed_writer_open(const char *path, const struct mx_packed_plan *plan, enum mx_packed_resume resume,
                          struct mx_packed_writer **out);
/* Leaves the journal in place, to be opened again; NULL is fine. */
void mx_packed_writer_close(struct mx_packed_writer *writer);
const struct mx_packed_header *mx_packed_writer_header(const struct mx_packed_writer *writer);
uint32_t mx_packed_writer_count(struct mx_packed_writer *writer); /* rows that are there */
uint64_t mx_packed_writer_bytes(struct mx_packed_writer *writer);
/* Copies the head of a row; false if the row is missing. */
bool mx_packed_writer_head(struct mx_packed_writer *writer, uint32_t row, struct mx_packed_record *head);
/* Appends one record; any thread. After a failure (disk full …) the journal is as it was before. */
int mx_packed_writer_append(struct mx_packed_writer *writer, struct mx_packed_buffer *buffer);
/* Reads a row back, checked; any thread. MX_ERR_NOT_FOUND if it is not there, MX_ERR_FORMAT if it is damaged, after
 * which it counts as missing, MX_ERR_IO if the disk does not give it. */
int mx_packed_writer_read(struct mx_packed_writer *writer, uint32_t row, struct mx_packed_buffer *buffer,
                          struct mx_packed_record *head, struct mx_packed_view *view);
/* Completes the file and gives it its final name; all rows must be there. After that the writer can only be closed.
 * MX_ERR_FORMAT: a row that was kept from an earlier journal and not read since is damaged; it now counts as missing
 * and may be appended again, after which this function can be called again. */
int mx_packed_writer_finish(struct mx_packed_writer *writer);

#endif
