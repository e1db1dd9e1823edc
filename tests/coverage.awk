# Lines and branches of npksd.h that no test reaches, from `gcov -b`. Those in coverage_gaps.txt have a reason; any
# other is a failure, and so is a listed gap that has become smaller or larger than its number.
#     awk -f coverage.awk coverage_gaps.txt npksd.h.gcov
function trimmed(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }
FNR == NR {
    if ($0 !~ /^#/ && split($0, part, / \| /) == 4)
        listed[trimmed(part[1]) " " trimmed(part[3])] = part[2] + 0
    else if ($0 !~ /^#/ && NF > 0) {
        printf "coverage_gaps.txt: not a gap: %s\n", $0
        bad = 1
    }
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
        all["line"]++
        if (hits ~ /^[#=]/)
            gap("line")
    }
}
/^branch/ && !/never executed/ {
    all["branch"]++
    if ($0 ~ /taken 0/)
        gap("branch")
}
function gap(kind, key) {
    key = kind " " before " / " text
    if (!(key in listed))
        key = kind " " text
    missed[kind]++
    found[key]++
    where[key] = number
}
END {
    for (key in found)
        if (!(key in listed)) {
            printf "not reached, and not in coverage_gaps.txt: %d of line %d: %s\n", found[key], where[key], key
            bad = 1
        }
    for (key in listed)
        if (found[key] + 0 != listed[key]) {
            printf "coverage_gaps.txt says %d, found %d: %s\n", listed[key], found[key], key
            bad = 1
        }
    printf "npksd.h: %.2f %% of %d lines and %.2f %% of %d branches are reached", \
        100 - 100 * missed["line"] / all["line"], all["line"], \
        100 - 100 * missed["branch"] / all["branch"], all["branch"]
    printf "; the other %d and %d %s\n", missed["line"], missed["branch"], \
        bad ? "are not all as listed" : "are listed with their reasons"
    exit bad
}
