# awk -v tolerance=T -f platform_compare.awk REFERENCE REPORT: two reports of platform_check.
# T = 0: every line the same. Otherwise: p-values and verdicts the same, numbers within T (1 + |x|).
function wrong(text) { print "  " text; bad++ }
function size(x) { return x < 0 ? -x : x }
{ sub(/\r$/, "") }
/\.memory\.|^ram\./ { next } # differ with the size of a pointer
FNR == NR { reference[++lines] = $0; next }
{
    found++
    if ($0 == reference[found])
        next
    other++
    split(reference[found], expected, " ")
    if ($1 != expected[1] || tolerance == 0 || NF < 2)
        wrong("should be: " reference[found] ", is: " $0)
    else if ($1 ~ /\.(p|reject|leading|blob)$/ && $2 != expected[2])
        wrong("another verdict: " reference[found] ", is: " $0)
    else if ($1 !~ /\.checksum$/ && size($2 - expected[2]) > tolerance * (1 + size(expected[2])))
        wrong("too far off: " reference[found] ", is: " $0)
}
END {
    if (found != lines || lines == 0)
        wrong("lines: " lines + 0 " expected, " found + 0 " found")
    if (!bad && !other)
        print "  " lines " lines, the same to the last bit"
    else if (!bad)
        print "  " lines " lines, the same verdicts, numbers within " tolerance
    exit bad > 0
}
