/* Copyright: (c) 2026, IndiaAI Inference contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state file: lines "KEY VALUE". Every process reads it anew when it changed; a change is a new file under the old
 * name, made while a lock beside it is held, so that a reader sees the old state or the new one.
 */
#include "stub.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES 65536
#define MAX_LINES 1024

typedef struct { const char *key, *value; } line;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char content[MAX_BYTES];
static line lines[MAX_LINES];
static int count;
static bool present;
static struct stat seen;

const char *state_path(void) {
  const char *path = getenv("STUB_GPU_STATE");
  return path && *path ? path : "/run/stub-gpu/state";
}

static void split(void) {
  count = 0;
  for (char *rest = content, *text; count < MAX_LINES && (text = strsep(&rest, "\n"));) {
    if (!*text || *text == '#') continue;
    char *space = strchr(text, ' ');
    if (space) *space = '\0';
    lines[count].key = text;
    lines[count++].value = space ? space + 1 : text + strlen(text);
  }
}

static void read_file(void) {
  struct stat now;
  if (stat(state_path(), &now) != 0) {
    present = false;
    count = 0;
    return;
  }
  if (present && now.st_ino == seen.st_ino && now.st_dev == seen.st_dev && now.st_size == seen.st_size &&
      now.st_mtim.tv_sec == seen.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec)
    return;
  int file = open(state_path(), O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? -1 : read(file, content, sizeof content - 1);
  if (file >= 0) close(file);
  present = got >= 0;
  content[present ? got : 0] = '\0';
  seen = now;
  split();
}

void state_enter(void) {
  pthread_mutex_lock(&lock);
  read_file();
}

void state_leave(void *unused) {
  (void)unused;
  pthread_mutex_unlock(&lock);
}

bool state_present(void) { return present; }

static const char *find(const char *key) {
  for (int i = 0; i < count; i++)
    if (strcmp(lines[i].key, key) == 0) return lines[i].value;
  return NULL;
}

const char *state_text(int gpu, const char *key) {
  if (gpu >= 0) {
    char own[96];
    snprintf(own, sizeof own, "gpu.%d.%s", gpu, key);
    const char *value = find(own);
    if (value) return value;
  }
  const char *value = find(key);
  return value ? value : "";
}

int state_numbers(int gpu, const char *key, long *found, int room) {
  int numbers = 0;
  const char *text = state_text(gpu, key);
  while (numbers < room) {
    char *end;
    long value = strtol(text, &end, 0);
    if (end == text) break;
    found[numbers++] = value;
    text = end;
  }
  return numbers;
}

long state_number(int gpu, const char *key, long otherwise) {
  long value;
  return state_numbers(gpu, key, &value, 1) == 1 ? value : otherwise;
}

static bool has_word(const char *text, const char *word, long *argument) {
  size_t length = strlen(word);
  for (; text && *text; text = strchr(text, ' ')) {
    text += strspn(text, " ");
    if (strncmp(text, word, length) != 0) continue;
    char after = text[length];
    if (after != '\0' && after != ' ' && after != ':') continue;
    if (argument && after == ':') *argument = strtol(text + length + 1, NULL, 10);
    return true;
  }
  return false;
}

bool state_fault(int gpu, const char *name, long *argument) {
  if (has_word(state_text(-1, "fault"), name, argument)) return true;
  char own[32];
  snprintf(own, sizeof own, "gpu.%d.fault", gpu);
  return gpu >= 0 && has_word(find(own), name, argument);
}

/* The file with one line replaced; false when the disk or the permissions do not allow it. */
static bool rewrite(const char *key, const char *value) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%ld", state_path(), (long)getpid());
  FILE *file = fopen(path, "we");
  if (!file) return false;
  for (int i = 0; i < count; i++)
    if (strcmp(lines[i].key, key) != 0) fprintf(file, "%s %s\n", lines[i].key, lines[i].value);
  if (value) fprintf(file, "%s %s\n", key, value);
  bool good = fflush(file) == 0 && fchmod(fileno(file), 0644) == 0;
  good = fclose(file) == 0 && good && rename(path, state_path()) == 0;
  if (!good) unlink(path);
  return good;
}

int state_write(int gpu, const char *key, const char *value) {
  char path[4096], own[96];
  snprintf(path, sizeof path, "%s.lock", state_path());
  snprintf(own, sizeof own, "gpu.%d.%s", gpu, key);
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return NO_PERMISSION;
  bool good = flock(file, LOCK_EX) == 0;
  if (good) {
    read_file(); /* somebody may have written since this function's caller looked */
    good = rewrite(own, value);
    read_file();
  }
  close(file);
  return good ? SUCCESS : NO_PERMISSION;
}

int copy_text(char *to, uint room, const char *text) {
  if (!to) return INVALID_ARGUMENT;
  if (strlen(text) >= room) return INSUFFICIENT_SIZE;
  strcpy(to, text);
  return SUCCESS;
}
