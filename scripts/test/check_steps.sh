# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034
#
# The steps of `make check-all`, for scripts/test/check_all.sh, which runs them, and scripts/test/tested.sh, which describes them.

check_steps=(clean-say clean-say-v3 package isa ptx oclgrind rusticl fuzz onnx browser tensorboard serve ranks soak chaos clean-demo
    clean-demo-v3 clean-test clean-test-v3)

# check_command STEP BUILD: what runs it in the root of the sources
check_command()
{
    local clean="scripts/deps.sh clean; scripts/build/clean_root.sh $2/check-all"
    case "$1" in
    clean-say) echo "$clean say" ;;
    clean-say-v3) echo "$clean say MARCH=x86-64-v3" ;;
    clean-demo) echo "$clean demo" ;;
    clean-demo-v3) echo "$clean demo MARCH=x86-64-v3" ;;
    clean-test) echo "$clean test" ;;
    clean-test-v3) echo "$clean test MARCH=x86-64-v3" ;;
    package) echo "make package BUILD=$2" ;;
    isa) echo "make test-isa WERROR=1 BUILD=$2" ;;
    ptx) echo "make test-ptx BUILD=$2" ;;
    oclgrind) echo "make oclgrind BUILD=$2" ;;
    rusticl) echo "make test-rusticl BUILD=$2" ;;
    fuzz) echo "make fuzz FUZZ=120 BUILD=$2" ;;
    onnx) echo "make test-onnx BUILD=$2" ;;
    browser) echo "make test-browser BUILD=$2" ;;
    tensorboard) echo "make test-tensorboard BUILD=$2" ;;
    serve) echo "make test-serve BUILD=$2" ;;
    ranks) echo "make test-ranks BUILD=$2" ;;
    soak) echo "make soak BUILD=$2" ;;
    chaos) echo "make chaos CHAOS_ROUNDS=300 BUILD=$2" ;;
    esac
}

# check_words STEP LANGUAGE: what it does, as a cell of a table
check_words()
{
    case "$1 $2" in
    'clean-say en') echo "\`make say\` in a fresh Debian 12 root" ;;
    'clean-say-v3 en') echo "\`make say MARCH=x86-64-v3\` in a fresh Debian 12 root" ;;
    'clean-demo en') echo "\`make demo\` in a fresh Debian 12 root" ;;
    'clean-demo-v3 en') echo "\`make demo MARCH=x86-64-v3\` in a fresh Debian 12 root" ;;
    'clean-test en') echo "\`make test\` in a fresh Debian 12 root" ;;
    'clean-test-v3 en') echo "\`make test MARCH=x86-64-v3\` in a fresh Debian 12 root" ;;
    'package en') echo "both Debian packages, tried out: \`make package\`" ;;
    'isa en') echo "every build of the processor matrix: \`make test-isa WERROR=1\`" ;;
    'ptx en') echo "what NVRTC makes of the CUDA kernels, executed for every generation: \`make test-ptx\`" ;;
    'oclgrind en') echo "the OpenCL kernels under a checker, with and without double precision: \`make oclgrind\`" ;;
    'rusticl en') echo "the OpenCL kernels on Mesa's rusticl, which has no double precision: \`make test-rusticl\`" ;;
    'fuzz en') echo "random bytes for every parser, two minutes each: \`make fuzz FUZZ=120\`" ;;
    'onnx en') echo "exported voices in onnxruntime, Piper and sherpa-onnx, with word errors: \`make test-onnx\`" ;;
    'browser en') echo "the pages of a run, a server and the doctor in Chromium: \`make test-browser\`" ;;
    'tensorboard en') echo "event files in TensorBoard: \`make test-tensorboard\`" ;;
    'serve en') echo "the server with other programs' clients: \`make test-serve\`" ;;
    'ranks en') echo "a rank killed at thirty moments: \`make test-ranks\`" ;;
    'soak en') echo "10,000 requests to one server: \`make soak\`" ;;
    'chaos en') echo "300 trainings that go wrong and continue: \`make chaos CHAOS_ROUNDS=300\`" ;;
    'clean-say fa') echo "\`make say\` در ریشهٔ تازهٔ دبیان ۱۲" ;;
    'clean-say-v3 fa') echo "\`make say MARCH=x86-64-v3\` در ریشهٔ تازهٔ دبیان ۱۲" ;;
    'clean-demo fa') echo "\`make demo\` در ریشهٔ تازهٔ دبیان ۱۲" ;;
    'clean-demo-v3 fa') echo "\`make demo MARCH=x86-64-v3\` در ریشهٔ تازهٔ دبیان ۱۲" ;;
    'clean-test fa') echo "\`make test\` در ریشهٔ تازهٔ دبیان ۱۲" ;;
    'clean-test-v3 fa') echo "\`make test MARCH=x86-64-v3\` در ریشهٔ تازهٔ دبیان ۱۲" ;;
    'package fa') echo "ساختن و آزمودن هر دو بستهٔ دبیان: \`make package\`" ;;
    'isa fa') echo "همهٔ ساخت‌ها برای پردازنده‌های گوناگون: \`make test-isa WERROR=1\`" ;;
    'ptx fa') echo "اجرای آنچه NVRTC از هسته‌های CUDA می‌سازد، برای هر نسل کارت: \`make test-ptx\`" ;;
    'oclgrind fa') echo "هسته‌های OpenCL زیر نظر یک بررسی‌کننده، با دقت مضاعف و بی آن: \`make oclgrind\`" ;;
    'rusticl fa') echo "هسته‌های OpenCL روی rusticl از Mesa که دقت مضاعف ندارد: \`make test-rusticl\`" ;;
    'fuzz fa') echo "بایت‌های تصادفی برای هر تجزیه‌گر، هر کدام دو دقیقه: \`make fuzz FUZZ=120\`" ;;
    'onnx fa') echo "صداهای صادرشده در onnxruntime و Piper و sherpa-onnx، با شمارش واژه‌های نادرست: \`make test-onnx\`" ;;
    'browser fa') echo "صفحه‌های اجرا، سرور و بررسی پیکره در Chromium: \`make test-browser\`" ;;
    'tensorboard fa') echo "پرونده‌های رویداد در TensorBoard: \`make test-tensorboard\`" ;;
    'serve fa') echo "سرور با برنامه‌های کارخواه دیگران: \`make test-serve\`" ;;
    'ranks fa') echo "کشتن یکی از فرایندها در سی لحظه: \`make test-ranks\`" ;;
    'soak fa') echo "۱۰٬۰۰۰ درخواست از یک سرور: \`make soak\`" ;;
    'chaos fa') echo "۳۰۰ آموزش که خراب می‌شوند و ادامه می‌یابند: \`make chaos CHAOS_ROUNDS=300\`" ;;
    esac
}
