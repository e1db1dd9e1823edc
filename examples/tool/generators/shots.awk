# A generator for npksd. With --generator it is started for each data set, with --server a loop of the
# shell starts it and adds the empty line that ends an answer:
#
#     npksd data/observed.csv --generator 'awk -v rows={rows} -v seed={seed} -f tool/generators/shots.awk'
#     npksd data/observed.csv --server 'while read rows seed; do
#         awk -v rows=$rows -v seed=$seed -f tool/generators/shots.awk; echo; done'

function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }

# the sum of four exponentials
function gamma4() { return -log((1 - rand()) * (1 - rand()) * (1 - rand()) * (1 - rand())) }

BEGIN {
    srand(seed)
    print "damage,distance,cooldown"
    for (i = 0; i < rows; i++) {
        distance = 12 + 3 * normal()
        print 22 - 1.4 * (distance - 12) + 4.2 * normal() "," distance "," 0.255 * gamma4()
    }
}
