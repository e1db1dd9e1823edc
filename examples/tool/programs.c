/* Generators that are programs: started for each data set, or once, with a protocol.
 *
 * Every program runs in a process group of its own, so that it can be ended with all it started.
 * What it prints is limited: the number of rows is known, and so is the patience (--timeout). */
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_JOBS = 64, EXTRA_LINES = 100, SAID = 400, MOST_ERRORS = 1 << 24 };

typedef enum job_state { JOB_IDLE, JOB_BUSY, JOB_DONE } job_state;

typedef struct job {
    job_state state;
    pid_t pid;
    int in, out, err; /* -1: closed */
    uint64_t seed;
    char *text, *command;
    size_t bytes, room, lines, errors, error_length;
    int quoted, line_empty; /* where the text stands now */
    double waited;
    char said[SAID]; /* how its stderr ends: the last line of a traceback says most */
} job;

struct program {
    program_settings settings;
    size_t most_bytes, count;
    job *jobs; /* settings.jobs */
    char *said;
};

/* ======== children end with us ======== */

static volatile sig_atomic_t children[MOST_JOBS];

static void end_children(void)
{
    for (int k = 0; k < MOST_JOBS; k++)
        if (children[k] > 0)
            kill(-(pid_t)children[k], SIGKILL);
}

static void end_by_signal(int number)
{
    end_children();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_children(void)
{
    static int done;
    if (done++)
        return;
    atexit(end_children);
    signal(SIGINT, end_by_signal);
    signal(SIGTERM, end_by_signal);
    signal(SIGHUP, end_by_signal);
    signal(SIGPIPE, SIG_IGN); /* a program that ended is noticed by what it returned */
}

/* Signals wait while a child is started: it would not be known yet, and would live on. */
static void hold_signals(int hold)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &signals, NULL);
}

static void remember_child(pid_t pid, pid_t instead_of)
{
    for (int k = 0; k < MOST_JOBS; k++)
        if (children[k] == instead_of) {
            children[k] = pid;
            return;
        }
}

/* ======== starting ======== */

/* CMD with {seed} and {rows} filled in. */
static char *fill_command(const char *command, const char *seed, const char *rows)
{
    char *filled = copy_text("", 0);
    while (*command) {
        size_t plain = strcspn(command, "{");
        const char *word = strncmp(command + plain, "{seed}", 6) == 0 ? seed
            : strncmp(command + plain, "{rows}", 6) == 0              ? rows
                                                                      : NULL;
        append(&filled, "%.*s%s", (int)plain, command, word ? word : command[plain] ? "{" : "");
        command += plain + (word ? 6 : command[plain] ? 1 : 0);
    }
    return filled;
}

static void run_child(const char *command, const char *seed, const char *rows, const int fds[6])
{
    setpgid(0, 0);
    dup2(fds[0], STDIN_FILENO);
    dup2(fds[3], STDOUT_FILENO);
    dup2(fds[5], STDERR_FILENO);
    for (int k = 0; k < 6; k++)
        if (fds[k] > 2)
            close(fds[k]);
    signal(SIGPIPE, SIG_DFL);
    if (seed) {
        setenv("NPKSD_SEED", seed, 1);
        setenv("NPKSD_ROWS", rows, 1);
    }
    hold_signals(0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* A pipe that other children do not inherit. */
static void make_pipe(int fds[2])
{
    if (pipe(fds) != 0)
        fail("the generator cannot be started: %s", strerror(errno));
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
}

static void start_job(job *j, const char *seed, const char *rows, int with_input)
{
    int fds[6] = { -1, -1, -1, -1, -1, -1 }; /* read and write end of stdin, stdout, stderr */
    if (with_input)
        make_pipe(fds);
    else
        fds[0] = open("/dev/null", O_RDONLY);
    make_pipe(fds + 2);
    make_pipe(fds + 4);
    fflush(stdout);
    hold_signals(1);
    j->pid = fork();
    if (j->pid < 0)
        fail("the generator cannot be started: %s: %s", j->command, strerror(errno));
    if (j->pid == 0)
        run_child(j->command, seed, rows, fds);
    setpgid(j->pid, j->pid); /* here as well: whoever comes first */
    remember_child(j->pid, 0);
    hold_signals(0);
    j->in = fds[1];
    j->out = fds[2];
    j->err = fds[4];
    close(fds[0]);
    close(fds[3]);
    close(fds[5]);
    fcntl(j->out, F_SETFL, O_NONBLOCK);
    fcntl(j->err, F_SETFL, O_NONBLOCK);
    j->errors = j->error_length = 0;
}

/* ======== ending ======== */

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void forget_job(job *j)
{
    close_end(&j->in);
    close_end(&j->out);
    close_end(&j->err);
    remember_child(0, j->pid);
    j->pid = 0;
}

/* What the program itself said is the best explanation there is. */
static const char *quote_errors(job *j)
{
    if (j->error_length == 0)
        return "";
    char *words = NULL;
    append(&words, ". It said: %s%s", j->errors > j->error_length ? "... " : "", j->said);
    return words;
}

static void check_exit(job *j, int status)
{
    if (WIFSIGNALED(status))
        fail("the generator was ended by signal %d: %s%s", WTERMSIG(status), j->command,
             quote_errors(j));
    if (WEXITSTATUS(status) != 0)
        fail("the generator failed with exit status %d%s: %s%s", WEXITSTATUS(status),
             WEXITSTATUS(status) == 127 ? " (no such program)" : "", j->command, quote_errors(j));
}

/* ======== reading ======== */

static size_t first_line(const char *text, size_t length)
{
    const char *end = (const char *)memchr(text, '\n', length);
    return end ? (size_t)(end - text) : length;
}

static void read_errors(program *p, job *j)
{
    char part[4096];
    ssize_t got;
    while (j->err >= 0 && (got = read(j->err, part, sizeof part)) > 0) {
        if (!p->said)
            p->said = clean_text(part, first_line(part, (size_t)got));
        size_t fresh = got < SAID ? (size_t)got : SAID - 1, room = SAID - 1 - fresh;
        size_t old = j->error_length < room ? j->error_length : room;
        memmove(j->said, j->said + j->error_length - old, old);
        memcpy(j->said + old, part + got - fresh, fresh);
        j->said[j->error_length = old + fresh] = '\0';
        j->errors += (size_t)got;
        if (j->errors > MOST_ERRORS)
            fail("the generator floods its standard error with more than %d MB: %s%s",
                 MOST_ERRORS >> 20, j->command, quote_errors(j));
        if (got < (ssize_t)sizeof part)
            break;
    }
}

const char *rows_words(const program_settings *p)
{
    return p->server ? "the first number of each line that it reads"
                     : "{rows} in CMD, or the environment variable NPKSD_ROWS";
}

const char *seed_words(const program_settings *p)
{
    return p->server ? "the second number of each line that it reads"
                     : "{seed} in CMD, or the environment variable NPKSD_SEED";
}

/* Counts lines; an empty one ends the answer of a server. */
static void look_at(program *p, job *j, size_t from)
{
    for (size_t k = from; k < j->bytes; k++) {
        char c = j->text[k];
        j->quoted ^= c == '"';
        if (c == '\n' && !j->quoted) {
            if (p->settings.server && j->line_empty) {
                if (k + 1 < j->bytes)
                    fail("the generator went on behind the empty line that ends an answer; it "
                         "should print just one: %s",
                         j->command);
                j->state = JOB_DONE;
            }
            j->lines++;
            j->line_empty = 1;
        } else if (c != '\r')
            j->line_empty = 0;
    }
    if (j->lines > p->settings.rows + EXTRA_LINES || j->bytes > p->most_bytes)
        fail("the generator prints more than the %zu rows that it was asked for (%s): %s",
             p->settings.rows, rows_words(&p->settings), j->command);
}

/* Returns 0 at the end of the stream. */
static int read_output(program *p, job *j)
{
    for (;;) {
        if (j->room - j->bytes < 65536)
            j->text = (char *)memory(j->text, j->room = 2 * j->room + 65536, 1);
        ssize_t got = read(j->out, j->text + j->bytes, j->room - j->bytes);
        if (got == 0)
            return 0;
        if (got < 0)
            return 1; /* nothing more now */
        j->bytes += (size_t)got;
        look_at(p, j, j->bytes - (size_t)got);
    }
}

/* Has it ended? Its process stays until reap: the group must not become somebody else's. */
static int has_ended(const job *j)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return waitid(P_PID, (id_t)j->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0
        || info.si_pid == j->pid;
}

/* Ends what the program left behind, and returns its exit status. */
static int reap(job *j)
{
    int status = 0;
    kill(-j->pid, SIGKILL);
    waitpid(j->pid, &status, 0);
    forget_job(j);
    return status;
}

/* A program that runs once is done when it has closed its output and ended. */
static void refuse_early_end(job *j)
{
    fail("the generator ended before it was told to. With --server it reads lines \"rows seed\" "
         "until there are no more, and answers each with CSV and an empty line: %s%s",
         j->command, quote_errors(j));
}

static void finish_job(program *p, job *j)
{
    if (j->state != JOB_BUSY || j->out >= 0 || !has_ended(j))
        return;
    read_errors(p, j);
    check_exit(j, reap(j));
    if (p->settings.server)
        refuse_early_end(j);
    if (j->bytes == 0)
        fail("the generator printed nothing. Its rows should come on standard output: if it writes "
             "a file, add && cat FILE. If it reads lines \"rows seed\", is it meant for --server? "
             "%s%s",
             j->command, quote_errors(j));
    j->state = JOB_DONE;
}

/* Reads what the programs that run have to say, waiting a tenth of a second for it at most. */
static void listen_to_jobs(program *p)
{
    struct pollfd fds[2 * MOST_JOBS];
    job *owners[2 * MOST_JOBS];
    nfds_t count = 0;
    int closing = 0;
    for (size_t k = 0; k < p->settings.jobs; k++) {
        job *j = &p->jobs[k];
        int ends[2] = { j->out, j->err };
        closing |= j->state == JOB_BUSY && j->out < 0;
        for (int e = 0; e < 2 && j->state == JOB_BUSY; e++)
            if (ends[e] >= 0) {
                fds[count].fd = ends[e];
                fds[count].events = POLLIN;
                fds[count].revents = 0;
                owners[count++] = j;
            }
    }
    poll(fds, count, closing ? 2 : 100);
    for (nfds_t k = 0; k < count; k++) {
        job *j = owners[k];
        if (!fds[k].revents)
            continue;
        if (fds[k].fd == j->out && !read_output(p, j))
            close_end(&j->out);
        if (fds[k].fd == j->err) {
            read_errors(p, j);
            if (!(fds[k].revents & POLLIN))
                close_end(&j->err);
        }
    }
}

/* Waits until the job is done, and reads from all that run meanwhile. Time counts only here: a
   program that waits for us to read is not slow. */
static void wait_for(program *p, job *wanted)
{
    while (wanted->state == JOB_BUSY) {
        double start = now_seconds();
        listen_to_jobs(p);
        for (size_t k = 0; k < p->settings.jobs; k++)
            finish_job(p, &p->jobs[k]);
        wanted->waited += now_seconds() - start;
        if (wanted->state == JOB_BUSY && p->settings.timeout > 0
            && wanted->waited > p->settings.timeout)
            fail("the generator took more than %g s for one data set%s. --timeout SECONDS allows "
                 "more, "
                 "--timeout 0 has no limit: %s%s",
                 p->settings.timeout,
                 p->settings.server
                     ? " (does it print the empty line that ends an answer, and flush its output? "
                       "mawk needs -W interactive)"
                     : has_ended(wanted)
                     ? " (it has ended, but something that it started keeps its output open)"
                     : "",
                 wanted->command, quote_errors(wanted));
    }
}

/* ======== asking ======== */

static void send_request(job *j, const char *request)
{
    size_t length = strlen(request);
    if (write(j->in, request, length) == (ssize_t)length)
        return;
    for (int wait = 0; wait < 40 && !has_ended(j); wait++)
        poll(NULL, 0, 50); /* it may be about to end: its exit status says more */
    if (has_ended(j)) {
        check_exit(j, reap(j));
        refuse_early_end(j);
    }
    fail("the generator does not read its standard input any more: %s", j->command);
}

static void ask(program *p, job *j, uint64_t seed)
{
    char number[24], rows[24], request[64];
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    snprintf(rows, sizeof rows, "%zu", p->settings.rows);
    j->seed = seed;
    j->bytes = j->lines = 0;
    j->quoted = 0;
    j->line_empty = 1;
    j->waited = 0;
    j->state = JOB_BUSY;
    if (!p->settings.server) {
        free(j->command);
        j->command = fill_command(p->settings.command, number, rows);
        start_job(j, number, rows, 0);
        return;
    }
    if (j->pid == 0) {
        j->command = copy_text(p->settings.command, strlen(p->settings.command));
        start_job(j, NULL, NULL, 1);
    }
    snprintf(request, sizeof request, "%s %s\n", rows, number);
    send_request(j, request);
}

static job *find_job(program *p, uint64_t seed)
{
    for (size_t k = 0; k < p->settings.jobs; k++)
        if (p->jobs[k].state != JOB_IDLE && p->jobs[k].seed == seed)
            return &p->jobs[k];
    return NULL;
}

static int is_wanted(const job *j, uint64_t seed, const uint64_t *next, size_t count)
{
    int wanted = j->seed == seed;
    for (size_t k = 0; k < count; k++)
        wanted |= j->seed == next[k];
    return wanted;
}

/* A data set that nobody wants any more: it was guessed wrongly which would come next. */
static void drop_job(program *p, job *j)
{
    if (p->settings.server)
        wait_for(p, j);
    else if (j->pid > 0)
        reap(j);
    j->state = JOB_IDLE;
}

program *program_open(const program_settings *wanted)
{
    program *p = (program *)memory(NULL, 1, sizeof *p);
    memset(p, 0, sizeof *p);
    p->settings = *wanted;
    /* numbers have at most 25 characters; names and categories may be long */
    double most = 1e6 + 400.0 * ((double)wanted->rows + 1) * ((double)wanted->columns + 1);
    p->most_bytes = most < 1e15 ? (size_t)most : SIZE_MAX;
    p->jobs = (job *)memory(NULL, wanted->jobs, sizeof *p->jobs);
    memset(p->jobs, 0, wanted->jobs * sizeof *p->jobs);
    watch_children();
    return p;
}

char *program_draw(program *p, uint64_t seed, const uint64_t *next, size_t *bytes)
{
    size_t jobs = p->settings.jobs;
    for (size_t k = 0; k < jobs; k++)
        if (p->jobs[k].state != JOB_IDLE && !is_wanted(&p->jobs[k], seed, next, jobs - 1))
            drop_job(p, &p->jobs[k]);
    for (size_t k = 0; k < jobs; k++) {
        uint64_t wanted = k == 0 ? seed : next[k - 1];
        if (find_job(p, wanted))
            continue;
        for (size_t i = 0; i < jobs; i++)
            if (p->jobs[i].state == JOB_IDLE) {
                ask(p, &p->jobs[i], wanted);
                break;
            }
    }
    job *j = find_job(p, seed);
    wait_for(p, j);
    char *text = copy_text(j->text, j->bytes);
    *bytes = j->bytes;
    j->state = JOB_IDLE;
    return text;
}

const char *program_said(const program *p) { return p->said; }

/* A server that sees the end of its input ends by itself; others are ended. */
void program_close(program *p)
{
    for (size_t k = 0; k < p->settings.jobs; k++) {
        job *j = &p->jobs[k];
        close_end(&j->in);
        for (int wait = 0; wait < 50 && j->pid > 0 && p->settings.server && !has_ended(j); wait++)
            poll(NULL, 0, 10);
        if (j->pid > 0)
            reap(j);
        free(j->text);
        free(j->command);
    }
    free(p->jobs);
    free(p->said);
    free(p);
}
