/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English words that are written alike and said differently, and the sounds of each reading in the phoneme names of
 * espeak-ng, which every accent of English turns into its own. Which reading a sentence means is decided in homographs.c.
 *
 * The names of the readings are those of the Wikipedia Homograph Data of Google, whose sentences they are learned from:
 * word_NAME there. The words that it does not have (survey, update …) have no sentences: what is learned of all nouns and
 * verbs decides. Nothing here takes memory.
 */
#include "text/english/homographs.h"

#include <stdlib.h>
#include <string.h>

#define NOUN      MX_READING_NOUN
#define VERB      MX_READING_VERB
#define ADJECTIVE MX_READING_ADJECTIVE
#define OTHER     MX_READING_OTHER

/* In the order of the alphabet. */
static const struct mx_homograph words[] = {
    {"abstract", {{"adj-nou", "'abstrakt", NOUN}, {"vrb", "a#bstr'akt", VERB}}},
    {"abuse", {{"nou", "a#bj'u:s", NOUN}, {"vrb", "a#bj'u:z", VERB}}},
    {"abuses", {{"nou", "a#bj'u:sI#z", NOUN}, {"vrb", "a#bj'u:zI#z", VERB}}},
    {"addict", {{"nou", "'adIkt", NOUN}, {"vrb", "a#d'Ikt", VERB}}},
    {"advocate", {{"nou", "'adv@k@t", NOUN}, {"vrb", "'adv@k,eIt", VERB}}},
    {"affect", {{"nou-psy", "'afEkt", NOUN}, {"", "a#f'Ekt", VERB}}},
    {"affiliate", {{"nou", "a#f'IlI;@t", NOUN}, {"vrb", "a#f'IlI2;,eIt", VERB}}},
    {"aged", {{"adj", "'eIdZ@d", ADJECTIVE}, {"", "'eIdZd", OTHER}}},
    {"aggregate", {{"adj-nou", "'agrI2g@t", NOUN}, {"vrb", "'agrI2g,eIt", VERB}}},
    {"alternate", {{"adj-nou", "'O:lt3n@t", NOUN}, {"vrb", "'O:lt3n,eIt", VERB}}},
    {"analyses", {{"nou", "a#n'al@s,i:z", NOUN}, {"vrb", "'ana#l,aIzI#z", VERB}}},
    {"animate", {{"adj-nou", "'anI2m@t", NOUN}, {"vrb", "'anI2m,eIt", VERB}}},
    {"appropriate", {{"adj", "a#pr'oUprI;@t", ADJECTIVE}, {"vrb", "a#pr'oUprI2;,eIt", VERB}}},
    {"approximate", {{"adj-nou", "a#pr'0ksIm@t", NOUN}, {"vrb", "a#pr'0ksIm,eIt", VERB}}},
    {"articulate", {{"adj", "A@t'IkjUl@t", ADJECTIVE}, {"vrb", "A@t'IkjUl,eIt", VERB}}},
    {"associate", {{"adj-nou", "a#s'oUsI;@t", NOUN}, {"vrb", "a#s'oUsI2;,eIt", VERB}}},
    {"attribute", {{"nou", "'atrIbj,u:t", NOUN}, {"vrb", "a#tr'Ibju:t", VERB}}},
    {"august", {{"adj", "O:g'Vst", ADJECTIVE}, {"", "'O:g@st", OTHER}, {"nam", "'aUgUst", OTHER}}},
    {"axes", {{"nou", "'aksi:z", NOUN}, {"nou-vrb", "'aks@z", OTHER}}},
    {"bass", {{"", "b'eIs", OTHER}, {"corp", "b'as", OTHER}}},
    {"blessed", {{"adj", "bl'Es@d", ADJECTIVE}, {"vrb", "bl'Est", VERB}}},
    {"bologna", {{"geo", "b@l'oUnj@", OTHER}, {"", "b@l'oUni", OTHER}}},
    {"bow", {{"nou-knot", "b'oU", NOUN}, {"nou-ship", "b'aU", NOUN}}},
    {"buffet", {{"nou", "b@f'eI", NOUN}, {"vrb", "b'VfI2t", VERB}}},
    {"celtic", {{"adj-nou-sports", "s'EltIk", NOUN}, {"", "k'EltIk", OTHER}}},
    {"close", {{"adj-nou", "kl'oUs", NOUN}, {"vrb", "kl'oUz", VERB}}},
    {"combine", {{"nou", "k'0mbaIn", NOUN}, {"vrb", "k@mb'aIn", VERB}}},
    {"compact", {{"adj-nou", "k'0mpakt", NOUN}, {"vrb", "k@mp'akt", VERB}}},
    {"compound", {{"nou", "k'0mpaUnd", NOUN}, {"vrb", "k@mp'aUnd", VERB}}},
    {"compress", {{"nou", "k'0mprEs", NOUN}, {"", "k@mpr'Es", VERB}}},
    {"conduct", {{"nou", "k'0ndVkt", NOUN}, {"vrb", "k@nd'Vkt", VERB}}},
    {"confines", {{"nou", "k'0nfaInz", NOUN}, {"vrb", "k@nf'aInz", VERB}}},
    {"conflict", {{"nou", "k'0nflIkt", NOUN}, {"vrb", "k@nfl'Ikt", VERB}}},
    {"conglomerate", {{"adj-nou", "k@Ngl'0m3r@t", NOUN}, {"vrb", "k@Ngl'0m3r,eIt", VERB}}},
    {"conjugate", {{"adj-nou", "k'0ndZu:g@t", NOUN}, {"vrb", "k'0ndZu:g,eIt", VERB}}},
    {"conscript", {{"nou", "k'0nskrIpt", NOUN}, {"vrb", "k@nskr'Ipt", VERB}}},
    {"console", {{"nou", "k'0nsoUl", NOUN}, {"vrb", "k@ns'oUl", VERB}}},
    {"consort", {{"nou", "k'0nsO@t", NOUN}, {"vrb", "k@ns'O@t", VERB}}},
    {"construct", {{"nou", "k'0nstrVkt", NOUN}, {"vrb", "k@nstr'Vkt", VERB}}},
    {"consummate", {{"adj", "k'0ns@m@t", ADJECTIVE}, {"vrb", "k'0ns@m,eIt", VERB}}},
    {"content", {{"adj-nou-vrb", "k@nt'Ent", NOUN}, {"nou", "k'0ntEnt", NOUN}}},
    {"contest", {{"nou", "k'0nt2Est", NOUN}, {"vrb", "k@nt'Est", VERB}}},
    {"contract", {{"nou", "k'0ntrakt", NOUN}, {"vrb", "k@ntr'akt", VERB}}},
    {"contrast", {{"nou", "k'0ntraast", NOUN}, {"vrb", "k@ntr'aast", VERB}}},
    {"converse", {{"adj-nou", "k'0nv3:s", NOUN}, {"vrb", "k@nv'3:s", VERB}}},
    {"convert", {{"nou", "k'0nv3:t", NOUN}, {"vrb", "k@nv'3:t", VERB}}},
    {"convict", {{"nou", "k'0nvIkt", NOUN}, {"vrb", "k@nv'Ikt", VERB}}},
    {"coordinate", {{"adj-nou", "koU'O@dI#n@t", NOUN}, {"vrb", "koU'O@dI2n,eIt", VERB}}},
    {"correlate", {{"nou", "k'O2rI2l@t", NOUN}, {"nou-vrb", "k'O2rI2l,eIt", OTHER}}},
    {"decrease", {{"nou", "d'i:kri:s", NOUN}, {"vrb", "dI#kr'i:s", VERB}}},
    {"defect", {{"nou", "d'i:fEkt", NOUN}, {"vrb", "dI#f'Ekt", VERB}}},
    {"degenerate", {{"adj-nou", "dI#dZ'En3r@t", NOUN}, {"vrb", "dI#dZ'En3r,eIt", VERB}}},
    {"delegate", {{"nou", "d'ElI2g@t", NOUN}, {"vrb", "d'ElI2g,eIt", VERB}}},
    {"deliberate", {{"adj", "dI#l'Ib3r@t", ADJECTIVE}, {"vrb", "dI#l'Ib3r,eIt", VERB}}},
    {"desert", {{"nou", "d'Ez3t", NOUN}, {"vrb", "dI#z'3:t", VERB}}},
    {"deviate", {{"nou", "d'i:vI;@t", NOUN}, {"vrb", "d'i:vI2;,eIt", VERB}}},
    {"diagnoses", {{"nou", "d,aI@gn'oUsi:z", NOUN}, {"vrb", "d,aI@gn'oUs@z", VERB}}},
    {"diffuse", {{"adj", "dI#fj'u:s", ADJECTIVE}, {"vrb", "dI#fj'u:z", VERB}}},
    {"digest", {{"nou", "d'aIdZEst", NOUN}, {"vrb", "daIdZ'Est", VERB}}},
    {"discard", {{"nou", "d'IskA@d", NOUN}, {"vrb", "dI2sk'A@d", VERB}}},
    {"discharge", {{"nou", "d'IstSA@dZ", NOUN}, {"vrb", "dI2stS'A@dZ", VERB}}},
    {"discount", {{"nou", "d'IskaUnt", NOUN}, {"vrb", "dI2sk'aUnt", VERB}}},
    {"document", {{"nou", "d'0kju:m@nt", NOUN}, {"vrb", "d'0kj@m,Ent", VERB}}},
    {"dove", {{"", "d'Vv", OTHER}, {"vrb", "d'oUv", VERB}}},
    {"duplicate", {{"adj-nou", "d'u:plI#k@t", NOUN}, {"vrb", "d'u:plI#k,eIt", VERB}}},
    {"elaborate", {{"adj", "@l'ab3r@t", ADJECTIVE}, {"vrb", "I#l'ab3r,eIt", VERB}}},
    {"entrance", {{"nou", "'Entr@ns", NOUN}, {"vrb", "Entr'aans", VERB}}},
    {"escort", {{"nou", "'EskO@t", NOUN}, {"vrb", "Esk'O@t", VERB}}},
    {"estimate", {{"nou", "'EstI#m@t", NOUN}, {"vrb", "'EstI#m,eIt", VERB}}},
    {"excuse", {{"nou", "Ekskj'u:s", NOUN}, {"vrb", "Ekskj'u:z", VERB}}},
    {"expatriate", {{"nou", "Eksp'eItrI;@t", NOUN}, {"vrb", "Eksp'eItrI2;,eIt", VERB}}},
    {"exploit", {{"nou", "'EksplOIt", NOUN}, {"vrb", "Ekspl'OIt", VERB}}},
    {"export", {{"nou", "'Ekspo@t", NOUN}, {"vrb", "Eksp'o@t", VERB}}},
    {"expose", {{"nou", "Ekspo@-z'eI", NOUN}, {"vrb", "Eksp'oUz", VERB}}},
    {"extract", {{"nou", "'Ekstrakt", NOUN}, {"vrb", "Ekstr'akt", VERB}}},
    {"finance", {{"nou", "f'aInans", NOUN}, {"vrb", "faIn'ans", VERB}}},
    {"fragment", {{"nou", "fr'agm@nt", NOUN}, {"vrb", "fragm'Ent", VERB}}},
    {"frequent", {{"adj", "fr'i:kw@nt", ADJECTIVE}, {"vrb", "fri:kw'Ent", VERB}}},
    {"graduate", {{"adj-nou", "gr'adZu:@t", NOUN}, {"vrb", "gr'adZu:,eIt", VERB}}},
    {"house", {{"nou", "h'aUs", NOUN}, {"vrb", "h'aUz", VERB}}},
    {"impact", {{"nou", "'Impakt", NOUN}, {"vrb", "Imp'akt", VERB}}},
    {"implant", {{"nou", "'Implant", NOUN}, {"vrb", "Impl'ant", VERB}}},
    {"implement", {{"nou", "'ImplIm@nt", NOUN}, {"vrb", "'ImplIm,Ent", VERB}}},
    {"import", {{"nou", "'Impo@t", NOUN}, {"vrb", "Imp'o@t", VERB}}},
    {"incense", {{"nou", "'InsEns", NOUN}, {"vrb", "Ins'Ens", VERB}}},
    {"incline", {{"nou", "'InklaIn", NOUN}, {"vrb", "INkl'aIn", VERB}}},
    {"increase", {{"nou", "'INkri:s", NOUN}, {"vrb", "INkr'i:s", VERB}}},
    {"increment", {{"nou", "'INkrIm@nt", NOUN}, {"vrb", "'INkrIm,Ent", VERB}}},
    {"initiate", {{"nou", "In'ISI;@t", NOUN}, {"vrb", "In'ISI2;,eIt", VERB}}},
    {"insert", {{"nou", "'Ins3:t", NOUN}, {"vrb", "Ins'3:t", VERB}}},
    {"instrument", {{"nou", "'Instr@m@nt", NOUN}, {"vrb", "'Instr@m,Ent", VERB}}},
    {"insult", {{"nou", "'InsVlt", NOUN}, {"vrb", "Ins'Vlt", VERB}}},
    {"interchange", {{"nou", "'Int3tSeIndZ", NOUN}, {"vrb", "Int3tS'eIndZ", VERB}}},
    {"intimate", {{"adj", "'IntI#m@t", ADJECTIVE}, {"vrb", "'IntI#m,eIt", VERB}}},
    {"intrigue", {{"nou", "'Intri:g", NOUN}, {"nou-vrb", "Intr'i:g", OTHER}}},
    {"invalid", {{"adj", "Inv'alId", ADJECTIVE}, {"nou", "'Inv@lId", NOUN}}},
    {"invert", {{"adj-nou", "'Inv3:t", NOUN}, {"vrb", "Inv'3:t", VERB}}},
    {"invite", {{"nou", "'InvaIt", NOUN}, {"vrb", "Inv'aIt", VERB}}},
    {"isolate", {{"nou", "'aIs@l@t", NOUN}, {"", "'aIs@l,eIt", VERB}}},
    {"jesus", {{"", "dZ'i:z@s", OTHER}, {"es", "heIs'u:s", OTHER}}},
    {"job", {{"bible", "dZ'oUb", OTHER}, {"", "dZ'0b", OTHER}}},
    {"laminate", {{"nou", "l'amI#n@t", NOUN}, {"vrb", "l'amI#n,eIt", VERB}}},
    {"lead", {{"nou", "l'Ed", NOUN}, {"nou-vrb", "l'i:d", OTHER}}},
    {"learned", {{"adj", "l'3:n@d", ADJECTIVE}, {"vrb", "l'3:nd", VERB}}},
    {"live", {{"adj", "l'aIv", ADJECTIVE}, {"vrb", "l'Iv", VERB}}},
    {"lives", {{"nou", "l'aIvz", NOUN}, {"vrb", "l'Ivz", VERB}}},
    {"mate", {{"nou", "m'A:teI", NOUN}, {"", "m'eIt", OTHER}}},
    {"minute", {{"adj", "maIn'u:t", ADJECTIVE}, {"", "m'InIt", OTHER}}},
    {"misuse", {{"nou", "mI2sj'u:s", NOUN}, {"vrb", "mI2sj'u:z", VERB}}},
    {"mobile", {{"", "m'oUb@L", OTHER}, {"geo", "moUb'i:l", OTHER}, {"nou-art", "m'oUbi:l", NOUN}}},
    {"moderate", {{"adj-nou", "m'0d3r@t", NOUN}, {"vrb", "m'0d3r,eIt", VERB}}},
    {"moped", {{"nou", "m'oUpEd", NOUN}, {"vrb", "m'oUpt", VERB}}},
    {"mouth", {{"nou", "m'aUT", NOUN}, {"vrb", "m'aUD", VERB}}},
    {"nestle", {{"nam", "n'Esli", OTHER}, {"vrb", "n'Es@L", VERB}}},
    {"object", {{"nou", "'0bdZI#kt", NOUN}, {"vrb", "@bdZ'Ekt", VERB}}},
    {"ornament", {{"nou", "'O@n@m@nt", NOUN}, {"vrb", "O@n@m'Ent", VERB}}},
    {"overthrow", {{"nou", "'oUv3TroU", NOUN}, {"vrb", "oUv3Tr'oU", VERB}}},
    {"pasty", {{"adj", "p'eIsti", ADJECTIVE}, {"nou", "p'aasti", NOUN}}},
    {"perfect", {{"adj", "p'3:fEkt", ADJECTIVE}, {"vrb", "p3f'Ekt", VERB}}},
    {"perfume", {{"nou", "p'3:fju:m", NOUN}, {"vrb", "p3fj'u:m", VERB}}},
    {"permit", {{"nou", "p'3:mIt", NOUN}, {"vrb", "p3m'It", VERB}}},
    {"pervert", {{"nou", "p'3:v3t", NOUN}, {"vrb", "p3v'3:t", VERB}}},
    {"pigment", {{"nou", "p'Igm@nt", NOUN}, {"vrb", "pIgm'Ent", VERB}}},
    {"polish", {{"geo", "p'oUlIS", OTHER}, {"", "p'0lIS", OTHER}}},
    {"postulate", {{"nou", "p'O2stSUl@t", NOUN}, {"vrb", "p'O2stSUl,eIt", VERB}}},
    {"precipitate", {{"adj-nou", "prIs'IpI#t@t", NOUN}, {"vrb", "prIs'IpI#t,eIt", VERB}}},
    {"predicate", {{"nou", "pr'EdI#k@t", NOUN}, {"vrb", "pr'EdI#k,eIt", VERB}}},
    {"present", {{"adj-nou", "pr'Ez@nt", NOUN}, {"vrb", "prIz'Ent", VERB}}},
    {"produce", {{"nou", "pr'oUdu:s", NOUN}, {"vrb", "pr@d'u:s", VERB}}},
    {"progress", {{"nou", "pr'0grEs", NOUN}, {"vrb", "pr@gr'Es", VERB}}},
    {"project", {{"nou", "pr'0dZEkt", NOUN}, {"vrb", "pr@dZ'Ekt", VERB}}},
    {"protest", {{"nou", "pr'oUt2Est", NOUN}, {"vrb", "pr@t'Est", VERB}}},
    {"ravel", {{"nam", "r@v'El", OTHER}, {"nou", "r'av@L", NOUN}}},
    {"read", {{"past", "r'Ed", VERB}, {"present", "r'i:d", VERB}}},
    {"reading", {{"en", "r'i:dIN", OTHER}, {"geo", "r'EdIN", OTHER}}},
    {"rebel", {{"nou", "r'Eb@L", NOUN}, {"vrb", "rI#b'El", VERB}}},
    {"record", {{"nou", "r'Ek3d", NOUN}, {"vrb", "rI#k'o@d", VERB}}},
    {"recount", {{"nou", "r'i:kaUnt", NOUN}, {"vrb", "ri:k'aUnt", VERB}}},
    {"refund", {{"nou", "r'i:fVnd", NOUN}, {"vrb", "rI#f'Vnd", VERB}}},
    {"refuse", {{"nou", "r'Efju:s", NOUN}, {"vrb", "rI#fj'u:z", VERB}}},
    {"reject", {{"nou", "r'i:dZEkt", NOUN}, {"vrb", "rI#dZ'Ekt", VERB}}},
    {"rerelease", {{"", "r'i:rI#l,i:s", NOUN}, {"vrb", "ri:rI#l'i:s", VERB}}},
    {"resume", {{"nou", "r'Ez@m,eI", NOUN}, {"vrb", "rI#z'u:m", VERB}}},
    {"retard", {{"nou", "r'i:tA@d", NOUN}, {"vrb", "rI#t'A@d", VERB}}},
    {"rodeo", {{"geo", "roUd'eIoU", OTHER}, {"", "r'oUdI2;,oU", OTHER}}},
    {"row", {{"1", "r'oU", OTHER}, {"2", "r'aU", OTHER}}},
    {"sake", {{"jp", "s'A:keI", OTHER}, {"", "s'eIk", OTHER}}},
    {"separate", {{"adj", "s'Ep3r@t", ADJECTIVE}, {"vrb", "s'Ep3r,eIt", VERB}}},
    {"sow", {{"nou", "s'aU", NOUN}, {"", "s'oU", VERB}}},
    {"subject", {{"adj-nou", "s'VbdZEkt", NOUN}, {"vrb", "s@bdZ'Ekt", VERB}}},
    {"subordinate", {{"adj-nou", "sVb'o@dI#n@t", NOUN}, {"vrb", "sVb'o@dI#n,eIt", VERB}}},
    {"supplement", {{"nou", "s'VplIm@nt", NOUN}, {"vrb", "s'VplIm,Ent", VERB}}},
    {"survey", {{"nou", "s'3:veI", NOUN}, {"vrb", "s3v'eI", VERB}}},
    {"suspect", {{"adj-nou", "s'VspEkt", NOUN}, {"vrb", "s@sp'Ekt", VERB}}},
    {"syndicate", {{"nou", "s'IndI#k@t", NOUN}, {"vrb", "s'IndI#k,eIt", VERB}}},
    {"tear", {{"nou", "t'i@3", NOUN}, {"vrb", "t'e@", VERB}}},
    {"torment", {{"nou", "t'o@mEnt", NOUN}, {"vrb", "to@m'Ent", VERB}}},
    {"transfer", {{"nou", "tr'ansf3:", NOUN}, {"vrb", "transf'3:", VERB}}},
    {"transform", {{"nou", "tr'ansfO@m", NOUN}, {"", "transf'O@m", VERB}}},
    {"transplant", {{"nou", "tr'ansplaant", NOUN}, {"vrb", "transpl'aant", VERB}}},
    {"transport", {{"nou", "tr'anspo@t", NOUN}, {"vrb", "transp'o@t", VERB}}},
    {"update", {{"nou", "'VpdeIt", NOUN}, {"vrb", "Vpd'eIt", VERB}}},
    {"upgrade", {{"nou", "'VpgreId", NOUN}, {"vrb", "Vpgr'eId", VERB}}},
    {"upset", {{"nou", "'VpsEt", NOUN}, {"vrb", "Vps'Et", VERB}}},
    {"use", {{"nou", "j'u:s", NOUN}, {"vrb", "j'u:z", VERB}}},
    {"uses", {{"nou", "j'u:sI#z", NOUN}, {"vrb", "j'u:zI#z", VERB}}},
    {"wind", {{"nou", "w'Ind", NOUN}, {"vrb", "w'aInd", VERB}}},
    {"winds", {{"nou", "w'Indz", NOUN}, {"vrb", "w'aIndz", VERB}}},
    {"wound", {{"nou-vrb", "w'u:nd", OTHER}, {"vrb", "w'aUnd", VERB}}},
};

static int word_compare(const void *key, const void *word)
{
    return strcmp(key, ((const struct mx_homograph *)word)->word);
}

const struct mx_homograph *mx_homograph_find(const char *word)
{
    return bsearch(word, words, sizeof words / sizeof *words, sizeof *words, word_compare);
}

size_t mx_homograph_number(const struct mx_homograph *word)
{
    return (size_t)(word - words);
}

const struct mx_homograph *mx_homograph_at(size_t number)
{
    return number < sizeof words / sizeof *words ? &words[number] : NULL;
}
