/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The modules that make mel out of tokens, in their order: the one place where a decoder is exchanged, or a finish
 * added. What a module does is in its own file; its parameters are in model_parameters.h, its graph is in
 * export/acoustic.c.
 */
#include "model/internal.h"
#include "myxtts/error.h"

const struct mx_mel_module *const mx_mel_modules[MX_MEL_MODULES_MAX + 1] = {&mx_decoder_module};

int mx_mel_forward(const struct mx_model_pass *pass)
{
    int rc = 0;
    for (int i = 0; mx_mel_modules[i] != NULL; i++) MX_TRY(mx_mel_modules[i]->forward(pass));
out:
    return rc;
}

int mx_mel_backward(const struct mx_model_pass *pass)
{
    int rc = 0, count = 0;
    while (mx_mel_modules[count] != NULL) count++;
    for (int i = count - 1; i >= 0; i--)
        if (pass->model->reach.modules[i]) MX_TRY(mx_mel_modules[i]->backward(pass));
out:
    return rc;
}
