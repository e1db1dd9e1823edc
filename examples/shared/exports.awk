# awk -f exports.awk npksd.h npksd_shared.h SYMBOLS: are the exported SYMBOLS the functions that the headers declare?
FNR == 1 { file++ }
file <= 2 && /^NPKSD_API / { text = ""; reading = 1 }
file <= 2 && reading {
    text = text " " $0
    if (match(text, /npksd_[a-z0-9_]+\(/)) {
        wanted[substr(text, RSTART, RLENGTH - 1)] = 1
        reading = 0
    }
}
file == 3 && NF { seen[$1] = 1; count++ }
END {
    for (name in wanted)
        if (!(name in seen)) { print "not exported: " name; bad = 1 }
    for (name in seen)
        if (!(name in wanted)) { print "exported by mistake: " name; bad = 1 }
    if (count < 40) { print "only " count + 0 " exported names"; bad = 1 }
    exit bad
}
