/* The header that rsmpi is built with for SimGrid's SMPI (3.32), in place of SMPI's own.
 *
 * SMPI loads a copy of the program for each process that it simulates, each with its own
 * variables, and calls `main` in it; all of them run on one thread. Besides what rsmpi does not
 * find in SMPI's header, here are calls that SMPI declares but ends the program at. */
#ifndef STRATA_SMPI_H
#define STRATA_SMPI_H

/* Declared without const by SMPI. */
#define MPI_Comm_spawn_multiple smpi_comm_spawn_multiple_declared
#include <smpi/mpi.h>
#undef MPI_Comm_spawn_multiple
extern int MPI_Comm_spawn_multiple(int count, char* commands[], char** arguments[], const int processes[],
                                   const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* inter, int codes[]);

/* An enumerator in SMPI, which bindings have under another name. */
#define MPI_SUCCESS 0

/* The tools' interface, which SMPI lacks. The only variables are `smpi/COLLECTIVE:ALGORITHM`, such as
 * `smpi/alltoall:bruck`: written 1, all processes take that algorithm; 0, what they took before. */
typedef struct strata_smpi_choice* MPI_T_cvar_handle;
extern int MPI_T_init_thread(int wanted, int* level);
extern int MPI_T_cvar_get_index(const char* name, int* index);
extern int MPI_T_cvar_handle_alloc(int index, void* object, MPI_T_cvar_handle* handle, int* count);
extern int MPI_T_cvar_handle_free(MPI_T_cvar_handle* handle);
extern int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void* value);

#ifndef __clang__ /* From here on only for rsmpi's C file, not for its bindings. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No constants in SMPI; but a process's copy is loaded while that process runs. */
MPI_Comm RSMPI_COMM_WORLD;
MPI_Comm RSMPI_COMM_SELF;

/* SMPI's collectives that have several algorithms, with the types of their arguments as a C++ symbol
 * names them, and what is called for each. */
static struct strata_smpi_collective {
  const char* name;
  const char* arguments;
  void** called;
  void* before;
} strata_smpi_collectives[] = {{"allgather", "EPKviPNS0_8DatatypeEPviS4_PNS0_4CommE"},
                               {"allreduce", "EPKvPviPNS0_8DatatypeEPNS0_2OpEPNS0_4CommE"},
                               {"alltoall", "EPKviPNS0_8DatatypeEPviS4_PNS0_4CommE"},
                               {"bcast", "EPviPNS0_8DatatypeEiPNS0_4CommE"},
                               {NULL, NULL}};

/* Before the standard library's own function (priority 99) keeps the arguments: programs are to see
 * theirs, and not those of `smpimain PROGRAM PLATFORM ARGUMENTS...`. */
static void strata_smpi_take_arguments(int count, char** arguments, char** environment)
{
  (void)environment;
  size_t length = count > 2 ? strlen(arguments[0]) : 0;
  if (length < 8 || strcmp(arguments[0] + length - 8, "smpimain") != 0 || !arguments[1] || !arguments[2])
    return;
  setenv("SMPI_PLATFORM", arguments[2], 1);
  arguments[0] = arguments[1];
  int at = 1;
  for (; at + 2 < count && arguments[at + 2]; at++)
    arguments[at] = arguments[at + 2];
  arguments[at] = NULL;
}
__attribute__((used, section(".init_array.00050"))) static void (*const strata_smpi_arguments)(
    int, char**, char**) = strata_smpi_take_arguments;

__attribute__((constructor)) static void strata_smpi_begin(void)
{
  RSMPI_COMM_WORLD = MPI_COMM_WORLD;
  RSMPI_COMM_SELF  = MPI_COMM_SELF;
  for (struct strata_smpi_collective* c = strata_smpi_collectives; c->name; c++) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "_ZN7simgrid4smpi5colls%zu%sE", strlen(c->name), c->name);
    c->called = (void**)dlsym(RTLD_DEFAULT, symbol);
    c->before = c->called ? *c->called : NULL;
  }
}

struct strata_smpi_choice {
  struct strata_smpi_collective* collective;
  void* algorithm;
};
static struct strata_smpi_choice strata_smpi_choices[256];
static int strata_smpi_count;
int MPI_T_init_thread(int wanted, int* level)
{
  *level = wanted;
  return MPI_SUCCESS;
}
int MPI_T_cvar_get_index(const char* name, int* index)
{
  const char* colon = strchr(name, ':');
  if (strncmp(name, "smpi/", 5) != 0 || !colon)
    return MPI_ERR_OTHER;
  for (struct strata_smpi_collective* c = strata_smpi_collectives; c->name; c++) {
    size_t length = strlen(c->name);
    if ((size_t)(colon - name) != length + 5 || strncmp(name + 5, c->name, length) != 0 || !c->called)
      continue;
    char symbol[256];
    snprintf(symbol, sizeof symbol, "_ZN7simgrid4smpi%zu%s__%s%s", length + 2 + strlen(colon + 1), c->name, colon + 1,
             c->arguments);
    struct strata_smpi_choice choice = {c, dlsym(RTLD_DEFAULT, symbol)};
    if (!choice.algorithm)
      return MPI_ERR_OTHER;
    for (*index = 0; *index < strata_smpi_count; ++*index)
      if (strata_smpi_choices[*index].algorithm == choice.algorithm)
        return MPI_SUCCESS;
    if (strata_smpi_count == 256)
      return MPI_ERR_OTHER;
    strata_smpi_choices[strata_smpi_count++] = choice;
    return MPI_SUCCESS;
  }
  return MPI_ERR_OTHER;
}
int MPI_T_cvar_handle_alloc(int index, void* object, MPI_T_cvar_handle* handle, int* count)
{
  (void)object;
  *handle = &strata_smpi_choices[index];
  *count  = 1;
  return MPI_SUCCESS;
}
int MPI_T_cvar_handle_free(MPI_T_cvar_handle* handle)
{
  *handle = NULL;
  return MPI_SUCCESS;
}
int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void* value)
{
  *handle->collective->called = *(const int*)value ? handle->algorithm : handle->collective->before;
  return MPI_SUCCESS;
}

/* Calls at which SMPI ends the program ("Not yet implemented"); these go before SMPI's. */
int MPI_Comm_get_parent(MPI_Comm* parent)
{
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* copy, MPI_Request* request)
{
  *request = MPI_REQUEST_NULL;
  return MPI_Comm_dup(comm, copy);
}
int MPI_Topo_test(MPI_Comm comm, int* status)
{
  int dimensions = 0;
  *status        = PMPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS ? MPI_CART : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int MPI_Win_sync(MPI_Win window)
{
  (void)window;
  return MPI_SUCCESS;
}

/* A matched message: a process has one thread, so no other call can take the message before. */
struct strata_smpi_message {
  int source, tag;
  MPI_Comm comm;
};
static MPI_Message strata_smpi_matched(const MPI_Status* status, MPI_Comm comm)
{
  struct strata_smpi_message* message = malloc(sizeof *message);
  if (message)
    *message = (struct strata_smpi_message){status->MPI_SOURCE, status->MPI_TAG, comm};
  return (MPI_Message)message;
}
static struct strata_smpi_message strata_smpi_taken(MPI_Message* message)
{
  struct strata_smpi_message taken = *(struct strata_smpi_message*)*message;
  free(*message);
  *message = MPI_MESSAGE_NULL;
  return taken;
}
int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status)
{
  MPI_Status found;
  int code = MPI_Iprobe(source, tag, comm, flag, &found);
  if (code == MPI_SUCCESS && *flag) {
    *message = strata_smpi_matched(&found, comm);
    if (status != MPI_STATUS_IGNORE)
      *status = found;
  }
  return code;
}
int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status)
{
  int flag;
  MPI_Status found;
  int code = MPI_Probe(source, tag, comm, &found);
  return code == MPI_SUCCESS ? MPI_Improbe(found.MPI_SOURCE, found.MPI_TAG, comm, &flag, message, status) : code;
}
int MPI_Mrecv(void* to, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status)
{
  struct strata_smpi_message m = strata_smpi_taken(message);
  return MPI_Recv(to, count, type, m.source, m.tag, m.comm, status);
}
int MPI_Imrecv(void* to, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request)
{
  struct strata_smpi_message m = strata_smpi_taken(message);
  return MPI_Irecv(to, count, type, m.source, m.tag, m.comm, request);
}

/* SMPI does not round the extent of a structure up to its alignment, as other libraries do. */
static struct {
  MPI_Datatype type;
  MPI_Aint alignment;
} strata_smpi_types[1024];
static int strata_smpi_known;
static MPI_Aint strata_smpi_alignment(MPI_Datatype type)
{
  for (int i = strata_smpi_known - 1; i >= 0; i--)
    if (strata_smpi_types[i].type == type)
      return strata_smpi_types[i].alignment;
  MPI_Aint lower, extent;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent == 2 || extent == 4 || extent == 8 ? extent : 1;
}
static void strata_smpi_keep(MPI_Datatype type, MPI_Aint alignment)
{
  if (strata_smpi_known < 1024) {
    strata_smpi_types[strata_smpi_known].type      = type;
    strata_smpi_types[strata_smpi_known].alignment = alignment;
    strata_smpi_known++;
  }
}
int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype* type)
{
  int code = PMPI_Type_contiguous(count, old, type);
  if (code == MPI_SUCCESS)
    strata_smpi_keep(*type, strata_smpi_alignment(old));
  return code;
}
int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* places, const MPI_Datatype* types,
                           MPI_Datatype* type)
{
  MPI_Datatype plain;
  int code = PMPI_Type_create_struct(count, lengths, places, types, &plain);
  if (code != MPI_SUCCESS)
    return code;
  MPI_Aint alignment = 1, lower, extent;
  for (int i = 0; i < count; i++) {
    MPI_Aint one = strata_smpi_alignment(types[i]);
    alignment    = one > alignment ? one : alignment;
  }
  PMPI_Type_get_extent(plain, &lower, &extent);
  code = PMPI_Type_create_resized(plain, lower, (extent + alignment - 1) / alignment * alignment, type);
  if (code == MPI_SUCCESS)
    strata_smpi_keep(*type, alignment);
  return code;
}

/* rsmpi's own constants, which would not compile, become others. */
#define RSMPI_COMM_WORLD strata_smpi_unused_world
#define RSMPI_COMM_SELF strata_smpi_unused_self
#undef MPI_COMM_SELF
#define MPI_COMM_SELF MPI_COMM_NULL
#define MPI_COMM_WORLD MPI_COMM_NULL
#endif
#endif
