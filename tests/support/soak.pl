# SPDX-License-Identifier: GPL-3.0-or-later
#
# Clients of a server of speech, many at once, some of them rude:
#
#     perl tests/support/soak.pl HTTP-PORT WYOMING-PORT REQUESTS CLIENTS SEED
#
# Each client is a process of its own. Requests are drawn from the seed: whole answers in several formats, streams that
# are read to their end, slowly, or broken off at a random byte, texts that are sent in pieces, requests that are wrong,
# and connections that never ask anything. A whole answer must be the same, bit for bit, as the first one to the same
# text, which was given alone. Prints how many requests of each kind were made; fails if an answer is wrong.
use strict;
use warnings;
use IO::Socket::INET;

my ($http, $wyoming, $requests, $clients, $seed) = @ARGV;
my @texts = ('Good day.', 'The tone number a. The tone number b!', 'Is it low? It is high, higher than the one before it.',
    "First paragraph.\n\nSecond paragraph. With two sentences.");
my (%count, %wanted, $wrong);
$SIG{PIPE} = 'IGNORE';

sub wrong { print STDERR "soak: $_[0]\n"; $wrong++ }

# The same numbers on every machine.
my $state;
sub draw { $state = ($state * 1103515245 + 12345) % 2147483648; return int($state / 65536) % $_[0] }

sub connect_to {
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $_[0], Timeout => 60);
    wrong("cannot connect to port $_[0]: $!") if !$socket;
    return $socket;
}

sub quote { my $text = shift; $text =~ s/\n/\\n/g; return "\"$text\"" }

sub request { # METHOD PATH BODY
    my ($method, $path, $body) = @_;
    return "$method $path HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
        . 'Content-Length: ' . length($body) . "\r\n\r\n$body";
}

# Status and body of an answer; at most `most` bytes are read, at `pace` bytes a time with a rest between them.
sub answer {
    my ($socket, $most, $pace) = @_;
    my $all = '';
    while (length($all) < $most) {
        my $got = sysread($socket, $all, $pace < 65536 ? $pace : 65536, length $all);
        last if !$got;
        select(undef, undef, undef, 0.02) if $pace < 65536;
    }
    my ($head, $body) = split /\r\n\r\n/, $all, 2;
    return (0, '') if !defined $head;
    my ($status) = $head =~ m{^HTTP/1\.1 (\d+)};
    return ($status // 0, $body // '') if $head !~ /^Transfer-Encoding: *chunked/mi;
    my ($rest, $plain) = ($body // '', '');
    while ($rest =~ s/^([0-9a-fA-F]+)\r\n//) {
        my $length = hex $1;
        last if length($rest) < $length + 2;
        $plain .= substr $rest, 0, $length;
        last if $length == 0 && ($count{ended}++, 1);
        substr($rest, 0, $length + 2) = '';
    }
    return ($status // 0, $plain);
}

sub ask { # METHOD PATH BODY MOST PACE
    my ($method, $path, $body, $most, $pace) = @_;
    my $socket = connect_to($http) or return (0, '');
    syswrite $socket, request($method, $path, $body);
    my @result = answer($socket, $most // 1e9, $pace // 65536);
    close $socket;
    return @result;
}

# The speech of a text, whole; pcm at the rate of the voice, as in all other formats that are compared.
sub speech { # TEXT FORMAT PACE
    my ($text, $format, $pace) = @_;
    my $rate = $format eq 'pcm' ? ', "sample_rate": 22050' : '';
    my $body = '{"input": ' . quote($text) . ", \"response_format\": \"$format\"$rate}";
    return ask('POST', '/v1/audio/speech', $body, 1e9, $pace);
}

sub wyoming_event { my ($type, $data) = @_; return "{\"type\": \"$type\", \"data\": $data}\n" }

# Reads events up to one of this type; returns the sound of them.
sub wyoming_until {
    my ($socket, $last) = @_;
    my $sound = '';
    while (defined(my $line = <$socket>)) {
        my ($type) = $line =~ /"type": *"([^"]+)"/ or last;
        my ($data) = $line =~ /"data_length": *(\d+)/;
        my ($payload) = $line =~ /"payload_length": *(\d+)/;
        my $bytes = '';
        read $socket, $bytes, $data if $data;
        read $socket, $bytes, $payload if $payload;
        $sound .= $bytes if $type eq 'audio-chunk';
        wrong("wyoming: $line") if $type eq 'error';
        return $sound if $type eq $last;
    }
    wrong("wyoming: no $last");
    return $sound;
}

sub is_wanted { my ($text, $sound, $what) = @_; wrong("$what: another sound") if $sound ne $wanted{$text} }

my @kinds = (
    [pcm => sub {
        my ($text) = @_;
        my ($status, $sound) = speech($text, 'pcm');
        return wrong("pcm: status $status") if $status != 200;
        is_wanted($text, $sound, 'pcm');
    }],
    [slow => sub {
        my ($text) = @_;
        my ($status, $sound) = speech($text, 'pcm', 20000);
        return wrong("slow: status $status") if $status != 200;
        is_wanted($text, $sound, 'slow');
    }],
    [wav => sub {
        my ($status, $sound) = speech($_[0], 'wav');
        wrong("wav: status $status") if $status != 200;
        is_wanted($_[0], substr($sound, -length $wanted{$_[0]}), 'wav');
    }],
    [flac => sub {
        my ($status, $sound) = speech($_[0], 'flac');
        wrong("flac: status $status") if $status != 200 || substr($sound, 0, 4) ne 'fLaC';
    }],
    [opus => sub {
        my ($status, $sound) = speech($_[0], 'opus');
        wrong("opus: status $status") if $status != 200 || substr($sound, 0, 4) ne 'OggS';
    }],
    [mp3 => sub {
        my ($status, $sound) = speech($_[0], 'mp3');
        wrong("mp3: status $status") if $status != 200 || length($sound) < 100;
    }],
    [piper => sub {
        my ($status, $sound) = ask('POST', '/synthesize', '{"text": ' . quote($_[0]) . '}');
        wrong("piper: status $status") if $status != 200 || substr($sound, 0, 4) ne 'RIFF';
        is_wanted($_[0], substr($sound, -length $wanted{$_[0]}), 'piper');
    }],
    [gone => sub { # goes away in the middle of the answer
        my $body = '{"input": ' . quote("$_[0] $_[0] $_[0]") . ', "response_format": "pcm"}';
        ask('POST', '/v1/audio/speech', $body, 1 + draw(60000));
    }],
    [fled => sub { # goes away before the answer, or within the request
        my $socket = connect_to($http) or return;
        my $request = request('POST', '/v1/audio/speech', '{"input": ' . quote($_[0]) . ', "response_format": "wav"}');
        syswrite $socket, substr($request, 0, 1 + draw(length $request));
        close $socket;
    }],
    [mute => sub { # never asks
        my $socket = connect_to($http) or return;
        select undef, undef, undef, 0.01;
        close $socket;
    }],
    [bad => sub {
        my @bodies = ('{', '{"input": 5}', '{"input": "a", "voice": "nobody"}', '{"input": "a", "speed": 99}', '{"input": ""}');
        my ($status) = ask('POST', '/v1/audio/speech', $bodies[draw(scalar @bodies)]);
        wrong("bad: status $status") if $status < 400 || $status > 499;
    }],
    [lists => sub {
        my @paths = ('/v1/models', '/v1/audio/voices', '/voices', '/health', '/metrics', '/');
        my $path = $paths[draw(scalar @paths)];
        my ($status, $body) = ask('GET', $path, '');
        wrong("$path: status $status") if $status != 200 || $body eq '';
    }],
    [wyoming => sub {
        my $socket = connect_to($wyoming) or return;
        syswrite $socket, wyoming_event('synthesize', '{"text": ' . quote($_[0]) . '}');
        is_wanted($_[0], wyoming_until($socket, 'audio-stop'), 'wyoming');
        close $socket;
    }],
    [streamed => sub {
        my $socket = connect_to($wyoming) or return;
        syswrite $socket, wyoming_event('synthesize-start', '{}');
        syswrite $socket, wyoming_event('synthesize-chunk', '{"text": ' . quote($_) . '}') for $_[0] =~ /.{1,9}/sg;
        syswrite $socket, wyoming_event('synthesize-stop', '{}');
        is_wanted($_[0], wyoming_until($socket, 'synthesize-stopped'), 'streamed');
        close $socket;
    }],
    [wyoming_gone => sub {
        my $socket = connect_to($wyoming) or return;
        syswrite $socket, wyoming_event('synthesize', '{"text": ' . quote("$_[0] $_[0] $_[0]") . '}');
        sysread $socket, my $bytes, 1 + draw(30000);
        close $socket;
    }],
);

for my $text (@texts) {
    my ($status, $sound) = speech($text, 'pcm');
    die "soak: the first answer has status $status\n" if $status != 200 || length($sound) < 1000;
    $wanted{$text} = $sound;
}
my @children;
for my $client (0 .. $clients - 1) {
    pipe my $from, my $to or die "soak: $!\n";
    my $pid = fork // die "soak: $!\n";
    if ($pid) { close $to; push @children, [$pid, $from]; next }
    close $from;
    $wrong = 0;
    %count = ();
    for (my $i = $client; $i < $requests; $i += $clients) {
        $state = ($seed * 7919 + $i * 104729 + 1) % 2147483648;
        draw(2) for 1 .. 5;
        my ($kind, $act) = @{$kinds[draw(scalar @kinds)]};
        $act->($texts[draw(scalar @texts)]);
        $count{$kind}++;
        if ($wrong > 20) { wrong('too many errors: this client gives up'); last }
    }
    print $to "$_ $count{$_}\n" for grep { $_ ne 'ended' } sort keys %count;
    close $to;
    exit($wrong ? 1 : 0);
}
my ($failed, %all) = (0);
for (@children) {
    my ($pid, $from) = @$_;
    while (<$from>) { my ($kind, $number) = split; $all{$kind} += $number }
    waitpid $pid, 0;
    $failed++ if $?;
}
print join(', ', map { "$all{$_} $_" } sort keys %all), "\n";
exit($failed ? 1 : 0);
