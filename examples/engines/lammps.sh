#!/bin/sh
# LAMMPS: is today's simulation still the one in the paper? No code, just the command line tool.
#
#     make -C examples simulator          package lammps; takes minutes, so .ci/wide runs it
#     engines/lammps.sh draw ROWS SEED TEMPERATURE CUTOFF      the rows of one run, as CSV
#
# A run puts ROWS particles into a heat bath. A row is a particle after 1.5 units of time: its velocity along x, its
# speed, its potential energy. Particles of one run depend on each other; that is fine, because the tool compares whole
# runs: --generator is called with {rows}, as many as were recorded, and a new {seed} for each data set.
#   rebuilt   the same settings: must pass (exit status 0)
#   warm      temperature 1.0 -> 1.6: must be rejected (exit status 1), and the speed named
#   short     forces cut off at 1.5 instead of 2.5: must be rejected, and the energy named
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tool=${NPKSD:-$here/../build/npksd}
python=${PYTHON:-/usr/bin/python3}
# a thousand short runs on one processor: no Open MPI daemon for each
export OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self

draw() { # ROWS SEED TEMPERATURE CUTOFF
    echo vx,speed,energy
    "${LMP:-lmp}" -in "$here/lammps.in" -log none -screen none -var rows "$1" -var seed "$2" -var temperature "$3" \
        -var cutoff "$4" -var file /dev/stdout | awk 'on { print $1 "," $2 "," $3 } /^ITEM: ATOMS/ { on = 1 }'
}
if [ "${1:-}" = draw ]; then
    shift
    draw "$@"
    exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0

# check NAME TEMPERATURE CUTOFF STATUS COLUMN: record 100 particles, test them, compare with what is expected
check() {
    draw 100 2026 "$2" "$3" > "$work/$1.csv"
    status=0
    "$tool" "$work/$1.csv" --generator "$0 draw {rows} {seed} 1.0 2.5" --replicates 39 --fit-rows 1000 \
        --json > "$work/$1.json" || status=$?
    named=$("$python" -c 'import json, sys; answer = json.load(open(sys.argv[1]))
print(answer["p_value"], *(c["name"] for c in answer["columns"] if answer["reject"] and c["differs"]))' "$work/$1.json")
    echo "$1: exit status $status; p, columns that differ: $named"
    [ "$status" -eq "$4" ] || wrong=1
    case " $named " in *" $5 "*) ;; *) [ -z "$5" ] || wrong=1 ;; esac
}
check rebuilt 1.0 2.5 0 ""
check warm 1.6 2.5 1 speed
check short 1.0 1.5 1 energy

# How many particles must be recorded? npksd_power, called from Python.
NPKSD_LIBRARY=${NPKSD_LIBRARY:-$here/../build/libnpksd.so} "$python" "$here/lammps_power.py" "$0"

[ $wrong -eq 0 ] || echo "lammps.sh: not the results that its comments promise" >&2
exit $wrong
