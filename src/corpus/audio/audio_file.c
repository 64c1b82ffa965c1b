/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Opening an untrusted audio file: headers that contradict the size of the file, absurd rates, files that are not
 * audio. libsndfile repairs many of these silently, and its message for a file it cannot open is shared by all threads,
 * so the reason is determined here.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "corpus/audio/audio_internal.h"

#define WAV_CHUNKS_MAX   64          /* before the audio; real files have a handful */
#define WAV_SIZE_UNKNOWN 0x7FFFF000u /* programs that write to a pipe put a size from here on */
#define WAV_TAIL_BYTES   4096u       /* of garbage after the audio that is ignored without a warning */

enum mx_reject mx_audio_refuse(struct mx_audio_report *report, enum mx_reject reject, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    vsnprintf(report->detail, sizeof report->detail, fmt, list);
    va_end(list);
    report->reject = reject;
    return reject;
}

/* ---- WAV headers ---- */

static uint32_t little32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t little16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

/* Reads exactly `bytes` at `offset`; false if that fails. */
static bool read_at(int fd, unsigned char *out, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(fd, out + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static bool is_chunk(int fd, uint64_t at, uint64_t size)
{
    unsigned char head[8];
    if (size - at < sizeof head || !read_at(fd, head, sizeof head, at)) return false;
    for (int i = 0; i < 4; i++)
        if (!isprint(head[i])) return false;
    return little32(head + 4) <= size - at - sizeof head;
}

/* The chunk of audio in a file of `size` bytes: `promised` bytes from `at` on, in steps of `align`. */
struct wav_data {
    uint64_t at, size;
    uint32_t promised, align;
    double bytes_per_second;
};

static enum mx_reject wav_data_check(int fd, const struct wav_data *data, struct mx_audio_report *report)
{
    const uint64_t size = data->size, there = size - data->at;
    const uint32_t promised = data->promised;
    const double bytes_per_second = data->bytes_per_second;
    if (promised >= WAV_SIZE_UNKNOWN) return MX_REJECT_NONE; /* the end of the file is the end of the audio */
    if (promised > there && promised - there > data->align)
        return mx_audio_refuse(report, MX_REJECT_LYING_HEADER,
                               "the header promises %.2f s of audio, the file holds %.2f s",
                               promised / bytes_per_second, (double)there / bytes_per_second);
    const uint64_t end = data->at + promised + (promised & 1);
    if (promised < there && size > end && size - end > WAV_TAIL_BYTES && !is_chunk(fd, end, size))
        return mx_audio_refuse(report, MX_REJECT_LYING_HEADER,
                               "the header promises %.2f s of audio, but %.2f s more follow",
                               promised / bytes_per_second, (double)(size - end) / bytes_per_second);
    return MX_REJECT_NONE;
}

static enum mx_reject rate_check(uint32_t rate, struct mx_audio_report *report)
{
    report->rate = rate <= INT32_MAX ? (int)rate : 0;
    if (rate >= MX_AUDIO_RATE_MIN && rate <= MX_AUDIO_RATE_MAX) return MX_REJECT_NONE;
    return mx_audio_refuse(report, MX_REJECT_ABSURD_RATE, "the sample rate is %u Hz; from %d to %d Hz are read", rate,
                           MX_AUDIO_RATE_MIN, MX_AUDIO_RATE_MAX);
}

enum mx_reject mx_audio_wav_check(int fd, uint64_t size, struct mx_audio_report *report)
{
    unsigned char head[16];
    uint32_t rate = 0, align = 0;
    if (size < 12 || !read_at(fd, head, 12, 0)) return MX_REJECT_NONE;
    if (memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WAVE", 4) != 0) return MX_REJECT_NONE;
    uint64_t at = 12;
    for (int chunk = 0; chunk < WAV_CHUNKS_MAX && size - at >= 8 && read_at(fd, head, 8, at); chunk++) {
        const uint32_t bytes = little32(head + 4);
        const bool format = memcmp(head, "fmt ", 4) == 0, data = memcmp(head, "data", 4) == 0;
        at += 8;
        if (data) {
            const double per_second = (double)rate * align;
            if (per_second == 0) return MX_REJECT_NONE; /* without a format libsndfile refuses it */
            const struct wav_data audio = {at, size, bytes, align, per_second};
            return wav_data_check(fd, &audio, report);
        }
        if (bytes > size - at) return MX_REJECT_NONE;
        if (format && bytes >= 16) {
            if (!read_at(fd, head, 16, at)) return MX_REJECT_NONE;
            rate = little32(head + 4);
            align = little16(head + 12);
            if (rate_check(rate, report) != MX_REJECT_NONE) return report->reject;
        }
        at += bytes + (bytes & 1u);
        if (at > size) return MX_REJECT_NONE;
    }
    return MX_REJECT_NONE;
}

/* ---- opening ---- */

/* Why libsndfile did not take the file, from its first bytes. */
static enum mx_reject unknown_explain(const unsigned char *head, size_t bytes, struct mx_audio_report *report)
{
    static const struct {
        const char *magic, *name;
    } kinds[] = {{"RIFF", "WAV"}, {"RIFX", "WAV"}, {"RF64", "WAV"}, {"fLaC", "FLAC"}, {"OggS", "Ogg"}, {"ID3", "MP3"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (bytes >= strlen(kinds[i].magic) && memcmp(head, kinds[i].magic, strlen(kinds[i].magic)) == 0)
            return mx_audio_refuse(report, MX_REJECT_UNREADABLE,
                                   "it begins like a %s file, but is damaged or of an unknown kind", kinds[i].name);
    bool text = true;
    for (size_t i = 0; i < bytes; i++) text = text && (head[i] >= 0x20 || isspace(head[i]));
    return mx_audio_refuse(report, MX_REJECT_UNREADABLE, text ? "it holds text, not audio" : "it is no audio file");
}

static void format_describe(const SF_INFO *info, struct mx_audio_report *report)
{
    SF_FORMAT_INFO major = {.format = info->format & SF_FORMAT_TYPEMASK};
    SF_FORMAT_INFO minor = {.format = info->format & SF_FORMAT_SUBMASK};
    const bool known = sf_command(NULL, SFC_GET_FORMAT_INFO, &major, sizeof major) == 0 &&
                       sf_command(NULL, SFC_GET_FORMAT_INFO, &minor, sizeof minor) == 0;
    snprintf(report->format, sizeof report->format, "%s, %s", known ? major.name : "unknown",
             known ? minor.name : "unknown");
}

/* The highest value that each way of storing samples can hold on its smaller side. */
static float full_scale_of(int format)
{
    switch (format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_S8:
    case SF_FORMAT_PCM_U8:
        return 127.0f / 128.0f;
    case SF_FORMAT_ULAW:
        return 32124.0f / 32768.0f;
    case SF_FORMAT_ALAW:
        return 32256.0f / 32768.0f;
    default:
        return 32767.0f / 32768.0f;
    }
}

static enum mx_reject unread(int error, struct mx_audio_report *report)
{
    report->error = error;
    return mx_audio_refuse(report, MX_REJECT_UNREADABLE, "cannot read it: %s", strerror(error));
}

enum mx_reject mx_audio_file_open(const char *path, struct mx_audio_file *file, struct mx_audio_report *report)
{
    struct stat status;
    unsigned char head[64];
    *file = (struct mx_audio_file){0};
    /* O_NONBLOCK: opening a pipe must not wait for its writer. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return mx_audio_refuse(report, MX_REJECT_MISSING_FILE, "there is no such file");
    if (fd < 0) {
        report->error = errno;
        return mx_audio_refuse(report, MX_REJECT_UNREADABLE, "cannot open it: %s", strerror(report->error));
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        mx_audio_refuse(report, MX_REJECT_UNREADABLE, "it is not an ordinary file");
    else if (status.st_size == 0)
        mx_audio_refuse(report, MX_REJECT_UNREADABLE, "the file is empty");
    else
        mx_audio_wav_check(fd, (uint64_t)status.st_size, report);
    if (report->reject != MX_REJECT_NONE) {
        close(fd);
        return report->reject;
    }
    const ssize_t got = pread(fd, head, sizeof head, 0);
    if (got < 0) {
        unread(errno, report);
        close(fd);
        return report->reject;
    }
    errno = 0;
    file->handle = sf_open_fd(fd, SFM_READ, &file->info, SF_TRUE); /* closes fd, also when it fails */
    if (errno == EIO || errno == ENOMEM) {                         /* it may still open, with what it could read */
        unread(errno, report);
        if (file->handle != NULL) sf_close(file->handle);
        file->handle = NULL;
        return report->reject;
    }
    if (file->handle == NULL) return unknown_explain(head, (size_t)got, report);
    file->full_scale = full_scale_of(file->info.format);
    format_describe(&file->info, report);
    report->channels = file->info.channels;
    if (file->info.samplerate > 0 && file->info.frames > 0)
        report->seconds_promised = (double)file->info.frames / file->info.samplerate;
    const uint32_t rate = file->info.samplerate < 0 ? 0 : (uint32_t)file->info.samplerate;
    if (rate_check(rate, report) != MX_REJECT_NONE) {
        sf_close(file->handle);
        file->handle = NULL;
    }
    return report->reject;
}
