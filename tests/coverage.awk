# Lines and branches of npksd.h that no test reaches, from `gcov -b`; those in coverage_gaps.txt have a
# reason, any other is a failure. A gap is known by its text, so that line numbers may move.
#     awk -f coverage.awk coverage_gaps.txt npksd.h.gcov
function trimmed(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }
FNR == NR {
    if ($0 !~ /^#/ && split($0, part, / \| /) >= 3)
        reason[trimmed(part[1]) " " trimmed(part[2])] = trimmed(part[3])
    next
}
/^ *[0-9#=-]+\*?: *[0-9]+:/ {
    split($0, part, ":")
    number = part[2] + 0
    before = text
    text = $0
    sub(/^[^:]*:[^:]*:/, "", text)
    text = trimmed(text)
    hits = trimmed(part[1])
    if (hits != "-") {
        lines++
        if (hits ~ /^[#=]/)
            gap("line")
    }
}
/^branch/ && !/never executed/ {
    branches++
    if ($0 ~ /taken 0/ && !(number in told)) {
        told[number] = 1
        gap("branch")
    }
    missed += $0 ~ /taken 0/
}
function gap(kind, key) {
    key = kind " " before " / " text
    if (!(key in reason))
        key = kind " " text
    gaps[kind]++
    if (key in reason) {
        used[key] = 1
        return
    }
    unlisted[kind]++
    printf "%s not reached, and not in coverage_gaps.txt: %d: %s\n", kind, number, text
}
END {
    for (key in reason)
        if (!(key in used) && key ~ /^line/)
            printf "coverage_gaps.txt lists what is reached now: %s\n", key
    printf "npksd.h: %.2f %% of %d lines, %.2f %% of %d branches; %d lines and %d lines with a branch are listed gaps\n", \
        100 * (lines - gaps["line"]) / lines, lines, 100 * (branches - missed) / branches, branches, \
        gaps["line"] - unlisted["line"], gaps["branch"] - unlisted["branch"]
    exit unlisted["line"] > 0
}
