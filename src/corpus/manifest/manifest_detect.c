/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Detects the format of a manifest from its content; see manifest.h for the formats.
 *
 * The hard case is three columns: id|raw|normalised and id|speaker|text look alike. Texts are nearly all different and
 * mostly have several words; names of speakers repeat, or are single words beside a text of several.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/string.h"
#include "corpus/manifest/manifest_internal.h"
#include "myxtts/error.h"

#define SAMPLE_LINES 2000 /* that are looked at */
#define QUOTED_BYTES 300

static const char *const extensions[] = {".wav", ".flac", ".ogg", ".opus", ".mp3"};

size_t mx_manifest_stem(const char *path, size_t length)
{
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++) {
        const size_t size = strlen(extensions[i]);
        if (length > size && strncasecmp(path + length - size, extensions[i], size) == 0) return length - size;
    }
    return length;
}

/* ---- lines and fields ---- */

bool mx_manifest_line_next(const char *data, size_t bytes, size_t *at, struct mx_manifest_span *line)
{
    if (*at >= bytes) return false;
    const char *const begin = data + *at, *const end = memchr(begin, '\n', bytes - *at);
    line->at = begin;
    line->length = end == NULL ? bytes - *at : (size_t)(end - begin);
    *at += line->length + (end != NULL);
    if (line->length > 0 && begin[line->length - 1] == '\r') line->length--;
    return true;
}

static bool blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static struct mx_manifest_span trimmed(const char *begin, const char *end)
{
    while (begin < end && blank(*begin)) begin++;
    while (begin < end && blank(end[-1])) end--;
    return (struct mx_manifest_span){begin, (size_t)(end - begin)};
}

bool mx_manifest_line_blank(struct mx_manifest_span line)
{
    return trimmed(line.at, line.at + line.length).length == 0;
}

/* The end of a field in quotes, its closing '"'; NULL: it is not in quotes, they are never closed, or text follows them,
 * which would be lost. */
static const char *quoted_end(const char *begin, const char *end)
{
    if (begin >= end || *begin != '"') return NULL;
    for (const char *at = begin + 1; at < end; at++) {
        if (*at != '"') continue;
        if (at + 1 < end && at[1] == '"') {
            at++;
            continue;
        }
        const char *after = at + 1;
        while (after < end && blank(*after)) after++;
        return after == end || *after == ',' ? at : NULL;
    }
    return NULL;
}

size_t mx_manifest_line_split(struct mx_manifest_span line, char separator,
                              struct mx_manifest_span fields[MX_MANIFEST_FIELDS])
{
    size_t count = 0;
    const char *begin = line.at, *const end = line.at + line.length;
    for (;;) {
        while (separator == ',' && begin < end && blank(*begin)) begin++;
        const char *const close = separator == ',' ? quoted_end(begin, end) : NULL;
        const char *const from = close != NULL ? close : begin;
        const char *const bar = memchr(from, separator, (size_t)(end - from)), *const stop = bar == NULL ? end : bar;
        if (count < MX_MANIFEST_FIELDS)
            fields[count] = close != NULL ? trimmed(begin + 1, close) : trimmed(begin, stop);
        count++;
        if (bar == NULL) return count;
        begin = bar + 1;
    }
}

/* ---- header lines ---- */

static bool field_is(struct mx_manifest_span field, const char *name)
{
    return field.length == strlen(name) && strncasecmp(field.at, name, field.length) == 0;
}

/* The column of the first of these names that the header has; NO_COLUMN: it has none of them. */
static size_t column_of(const struct mx_manifest_span *fields, size_t count, const char *const *names)
{
    for (; *names != NULL; names++)
        for (size_t i = 0; i < count && i < MX_MANIFEST_FIELDS; i++)
            if (field_is(fields[i], *names)) return i;
    return MX_MANIFEST_NO_COLUMN;
}

/* What the columns hold, of which a header with tabs or commas has any and a Coqui CSV only the first name. */
static const char *const audio_names[] = {
    "audio_file", "path", "file", "file_name", "filename", "audio", "wav", "audio_path", "audio_filepath", "id", NULL};
static const char *const text_names[] = {"text", "normalized_text", "sentence", "transcript", "transcription", NULL};
static const char *const speaker_names[] = {"speaker_name", "speaker", "speaker_id", "client_id", NULL};
static const char *const language_names[] = {"language", "locale", "lang", NULL};

static bool header_shape(struct mx_manifest_span line, char separator, struct mx_manifest_shape *out)
{
    struct mx_manifest_span fields[MX_MANIFEST_FIELDS];
    const bool bars = separator == '|';
    const char *const audio[] = {audio_names[0], NULL}, *const text[] = {text_names[0], NULL},
                      *const speaker[] = {speaker_names[0], NULL}, *const language[] = {language_names[0], NULL};
    const size_t count = mx_manifest_line_split(line, separator, fields);
    *out = (struct mx_manifest_shape){.format = bars                ? MX_MANIFEST_COQUI
                                                : separator == '\t' ? MX_MANIFEST_TSV
                                                                    : MX_MANIFEST_CSV,
                                      .separator = separator,
                                      .header = true,
                                      .audio = column_of(fields, count, bars ? audio : audio_names),
                                      .text = column_of(fields, count, bars ? text : text_names),
                                      .raw = MX_MANIFEST_NO_COLUMN,
                                      .speaker = column_of(fields, count, bars ? speaker : speaker_names),
                                      .language = column_of(fields, count, bars ? language : language_names),
                                      .fields_max = count};
    const size_t columns[] = {out->audio, out->text, out->speaker, out->language};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (columns[i] != MX_MANIFEST_NO_COLUMN && columns[i] >= out->fields_min) out->fields_min = columns[i] + 1;
    return out->audio != MX_MANIFEST_NO_COLUMN && out->text != MX_MANIFEST_NO_COLUMN;
}

/* True if the first line that is not blank is a header. A line with a '|' never is one with tabs or commas. */
static bool header_find(const char *data, size_t bytes, struct mx_manifest_span *line, struct mx_manifest_shape *out)
{
    size_t at = 0;
    do {
        if (!mx_manifest_line_next(data, bytes, &at, line)) return false;
    } while (mx_manifest_line_blank(*line));
    if (mx_utf8_check(line->at, line->length) != line->length) return false;
    if (memchr(line->at, '|', line->length) != NULL) return header_shape(*line, '|', out);
    return header_shape(*line, '\t', out) || header_shape(*line, ',', out);
}

/* The same; out->columns are in the arena. */
static bool header_read(const char *data, size_t bytes, struct mx_manifest_shape *out, struct mx_arena *arena,
                        int *failure)
{
    struct mx_manifest_span line;
    struct mx_manifest_shape found;
    if (!header_find(data, bytes, &line, &found)) return false;
    char *const columns = mx_arena_strndup(arena, line.at, line.length);
    if (columns == NULL) *failure = MX_ERR_NO_MEMORY;
    for (char *tab = columns; tab != NULL && (tab = strchr(tab, '\t')) != NULL;) *tab = '|'; /* to be read */
    found.columns = columns;
    *out = found;
    return true;
}

bool mx_manifest_plausible(const char *data, size_t bytes)
{
    size_t at = 0, lines = 0, good = 0;
    struct mx_manifest_span line, fields[MX_MANIFEST_FIELDS];
    struct mx_manifest_shape shape;
    if (header_find(data, bytes, &line, &shape)) return true;
    while (lines < SAMPLE_LINES && mx_manifest_line_next(data, bytes, &at, &line)) {
        if (mx_manifest_line_blank(line)) continue;
        lines++;
        const size_t count = mx_manifest_line_split(line, '|', fields);
        if (count >= 2 && count <= MX_MANIFEST_FIELDS && fields[0].length > 0) good++;
    }
    return good > 0 && good * 5 >= lines * 4;
}

/* ---- what the columns hold ---- */

struct sample {
    size_t lines;                                 /* not blank */
    size_t with_bar;                              /* lines with two fields or more */
    size_t paths;                                 /* first field is a path, or has an audio extension */
    size_t of_count[4];                           /* lines of two, three, and more fields; [0] and [1] unused */
    size_t three;                                 /* entries of the two arrays below */
    struct mx_manifest_span middle[SAMPLE_LINES]; /* second field of lines with three fields */
    struct mx_manifest_span last[SAMPLE_LINES];   /* third field of the same lines */
    struct mx_manifest_span scratch[SAMPLE_LINES];
};

static bool is_path(struct mx_manifest_span field)
{
    return mx_manifest_stem(field.at, field.length) < field.length || memchr(field.at, '/', field.length) != NULL;
}

static void sample_collect(const char *data, size_t bytes, struct sample *sample)
{
    size_t at = 0;
    struct mx_manifest_span line, fields[MX_MANIFEST_FIELDS];
    memset(sample, 0, sizeof *sample);
    while (sample->lines < SAMPLE_LINES && mx_manifest_line_next(data, bytes, &at, &line)) {
        if (mx_manifest_line_blank(line)) continue;
        sample->lines++;
        const size_t count = mx_manifest_line_split(line, '|', fields);
        if (count < 2 || fields[0].length == 0) continue;
        sample->with_bar++;
        sample->of_count[count > 3 ? 0 : count]++;
        sample->paths += is_path(fields[0]);
        if (count != 3) continue;
        sample->middle[sample->three] = fields[1];
        sample->last[sample->three++] = fields[2];
    }
}

static int span_compare(const void *left, const void *right)
{
    const struct mx_manifest_span *const a = left, *const b = right;
    const int order = memcmp(a->at, b->at, a->length < b->length ? a->length : b->length);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static bool has_blank(struct mx_manifest_span field)
{
    return memchr(field.at, ' ', field.length) != NULL;
}

/* Are names[i] speakers of texts[i]? They must be shorter; and single words beside a text of several, or repeat. */
static bool are_speakers(const struct mx_manifest_span *names, const struct mx_manifest_span *texts, size_t count,
                         struct mx_manifest_span *scratch)
{
    size_t shorter = 0, single = 0, different = 1;
    for (size_t i = 0; i < count; i++) {
        shorter += names[i].length < texts[i].length;
        single += !has_blank(names[i]) && has_blank(texts[i]);
        scratch[i] = names[i];
    }
    if (shorter * 2 <= count) return false;
    qsort(scratch, count, sizeof scratch[0], span_compare);
    for (size_t i = 1; i < count; i++) different += span_compare(&scratch[i], &scratch[i - 1]) != 0;
    return single * 2 > count || (count >= 8 && different * 2 <= count);
}

static bool middle_is_speaker(struct sample *sample)
{
    return are_speakers(sample->middle, sample->last, sample->three, sample->scratch);
}

static bool last_is_speaker(struct sample *sample)
{
    return are_speakers(sample->last, sample->middle, sample->three, sample->scratch);
}

/* Do columns two and three begin alike, as a raw text and its normalised form do? */
static bool are_texts(const struct sample *sample)
{
    size_t alike = 0;
    for (size_t i = 0; i < sample->three; i++)
        alike += sample->middle[i].length > 0 && sample->last[i].length > 0 &&
                 strncasecmp(sample->middle[i].at, sample->last[i].at, 1) == 0;
    return alike * 2 > sample->three;
}

/* ---- forms ---- */

/* id or path, then the text, or its raw and its normalised form. */
static struct mx_manifest_shape shape_text(enum mx_manifest_format format, const char *columns, bool normalised)
{
    return (struct mx_manifest_shape){format,
                                      columns,
                                      .separator = '|',
                                      .audio = 0,
                                      .text = normalised ? 2 : 1,
                                      .raw = normalised ? 1 : MX_MANIFEST_NO_COLUMN,
                                      .speaker = MX_MANIFEST_NO_COLUMN,
                                      .language = MX_MANIFEST_NO_COLUMN,
                                      .fields_min = 2,
                                      .fields_max = normalised ? 3 : 2};
}

/* id or path, then speaker and text in one of the two orders. */
static struct mx_manifest_shape shape_speaker(enum mx_manifest_format format, const char *columns, size_t speaker)
{
    return (struct mx_manifest_shape){format,
                                      columns,
                                      .separator = '|',
                                      .audio = 0,
                                      .text = speaker == 1 ? 2 : 1,
                                      .raw = MX_MANIFEST_NO_COLUMN,
                                      .speaker = speaker,
                                      .language = MX_MANIFEST_NO_COLUMN,
                                      .fields_min = 3,
                                      .fields_max = 3};
}

static bool has_three(const struct sample *sample)
{
    return sample->of_count[3] > sample->of_count[2];
}

static struct mx_manifest_shape shape_filelist(struct sample *sample)
{
    if (!has_three(sample)) return shape_text(MX_MANIFEST_FILELIST, "path|text", false);
    if (last_is_speaker(sample)) return shape_speaker(MX_MANIFEST_FILELIST, "path|text|speaker", 2);
    if (middle_is_speaker(sample)) return shape_speaker(MX_MANIFEST_FILELIST, "path|speaker|text", 1);
    if (are_texts(sample)) return shape_text(MX_MANIFEST_FILELIST, "path|raw|normalised", true);
    return shape_speaker(MX_MANIFEST_FILELIST, "path|text|speaker", 2);
}

static struct mx_manifest_shape shape_of(enum mx_manifest_format format, struct sample *sample)
{
    if (format == MX_MANIFEST_FILELIST) return shape_filelist(sample);
    if (format == MX_MANIFEST_PIPER)
        return has_three(sample) ? shape_speaker(format, "id|speaker|text", 1) : shape_text(format, "id|text", false);
    return has_three(sample) ? shape_text(format, "id|raw|normalised", true) : shape_text(format, "id|text", false);
}

int mx_manifest_detect(const char *name, struct mx_manifest_span text, enum mx_manifest_format format, bool wav_folder,
                       struct mx_arena *arena, struct mx_manifest_shape *out)
{
    int rc = 0;
    const char *const data = text.at;
    const size_t bytes = text.length;
    char quoted[QUOTED_BYTES];
    struct sample *const sample = mx_alloc(1, sizeof *sample);
    if (sample == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_string_quote(quoted, sizeof quoted, name);
    if (bytes >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0))
        MX_RAISE(MX_ERR_DATA, "save it as UTF-8, for example with 'iconv -f UTF-16 -t UTF-8'",
                 "manifest %s is UTF-16, not UTF-8", quoted);
    sample_collect(data, bytes, sample);
    if (sample->lines == 0)
        MX_RAISE(MX_ERR_DATA, "one line for each recording is needed: id|text", "manifest %s is empty", quoted);
    const bool header = header_read(data, bytes, out, arena, &rc);
    if (rc < 0 || (header && (format == MX_MANIFEST_AUTO || format == out->format))) goto out;
    if (format == MX_MANIFEST_TSV || format == MX_MANIFEST_CSV)
        MX_RAISE(MX_ERR_DATA, "the first line must name the columns, for example path and text",
                 "manifest %s has no header with %s between its columns", quoted,
                 format == MX_MANIFEST_TSV ? "tabs" : "commas");
    if (format == MX_MANIFEST_COQUI)
        MX_RAISE(MX_ERR_DATA, "the first line must be a header such as audio_file|text|speaker_name",
                 "manifest %s has no header with the columns audio_file and text", quoted);
    if (sample->with_bar == 0)
        MX_RAISE(MX_ERR_DATA,
                 "one line for each recording is needed: id|text, separated by '|'; or tabs or commas, and a header "
                 "that names the columns, for example path,text",
                 "%s is not a manifest: none of its lines has columns", quoted);
    if (format == MX_MANIFEST_AUTO) {
        if (sample->paths * 2 > sample->with_bar)
            format = MX_MANIFEST_FILELIST;
        else if (has_three(sample) ? middle_is_speaker(sample) : wav_folder)
            format = MX_MANIFEST_PIPER;
        else
            format = MX_MANIFEST_LJSPEECH;
    }
    *out = shape_of(format, sample);
out:
    mx_free(sample);
    return rc;
}
