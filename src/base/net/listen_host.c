/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Host and Origin, see listen_host.h.
 */
#include "base/net/listen_host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 255

/* Copies the name without its port, brackets included; false: it is not of this form. */
static bool name_copy(const char *host, char name[NAME_MAX_BYTES + 1])
{
    size_t length = strcspn(host, ":");
    if (host[0] == '[') {
        length = strcspn(host, "]");
        if (host[length] == '\0') return false;
        length++;
    }
    if (length == 0 || length > NAME_MAX_BYTES) return false;
    if (host[length] != '\0') {
        const size_t digits = host[length] == ':' ? strspn(host + length + 1, "0123456789") : 0;
        if (digits == 0 || digits > 5 || host[length + 1 + digits] != '\0') return false;
    }
    memcpy(name, host, length);
    name[length] = '\0';
    return true;
}

/* AF_INET or AF_INET6 with the address, or 0. */
static int number_read(const char *name, unsigned char address[16])
{
    char inner[NAME_MAX_BYTES + 1];
    const size_t length = strlen(name);
    if (inet_pton(AF_INET, name, address) == 1) return AF_INET;
    if (name[0] != '[' || length < 3) return 0;
    memcpy(inner, name + 1, length - 2);
    inner[length - 2] = '\0';
    return inet_pton(AF_INET6, inner, address) == 1 ? AF_INET6 : 0;
}

bool mx_listen_host_local(const char *host)
{
    static const unsigned char loopback[16] = {[15] = 1};
    char name[NAME_MAX_BYTES + 1];
    unsigned char address[16];
    if (!name_copy(host, name)) return false;
    if (strcasecmp(name, "localhost") == 0) return true;
    const int family = number_read(name, address);
    return family == AF_INET ? address[0] == 127 : family == AF_INET6 && memcmp(address, loopback, 16) == 0;
}

bool mx_listen_host_number(const char *host)
{
    char name[NAME_MAX_BYTES + 1];
    unsigned char address[16];
    return name_copy(host, name) && number_read(name, address) != 0;
}

bool mx_listen_host_among(const char *host, const char *const *names, size_t count)
{
    char name[NAME_MAX_BYTES + 1];
    if (!name_copy(host, name)) return false;
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, names[i]) == 0) return true;
    return false;
}

bool mx_listen_host_valid(const char *name)
{
    unsigned char address[16];
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");
    return (length > 0 && length <= NAME_MAX_BYTES && name[length] == '\0') ||
           (strlen(name) <= NAME_MAX_BYTES && number_read(name, address) != 0);
}

/* What follows http:// or https://; NULL: neither. */
static const char *authority(const char *origin)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < 2; i++)
        if (strncasecmp(origin, schemes[i], strlen(schemes[i])) == 0) return origin + strlen(schemes[i]);
    return NULL;
}

bool mx_listen_origin_same(const char *origin, const char *host)
{
    char name[NAME_MAX_BYTES + 1];
    const char *const from = authority(origin);
    return from != NULL && name_copy(from, name) && strcasecmp(from, host) == 0;
}

bool mx_listen_origin_among(const char *origin, const char *const *origins, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(origin, origins[i]) == 0) return true;
    return false;
}

bool mx_listen_origin_valid(const char *origin)
{
    char name[NAME_MAX_BYTES + 1];
    const char *const from = authority(origin);
    return from != NULL && name_copy(from, name) && mx_listen_host_valid(name);
}
