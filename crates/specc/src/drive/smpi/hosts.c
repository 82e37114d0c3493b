/* Prints the hosts of a platform of SimGrid, which says itself why it refuses one. */
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdio.h>

/* In SMPI's header, which renames `main`. */
extern void smpi_init_options(void);

int main(int count, char** arguments)
{
  simgrid_init(&count, arguments);
  /* A platform may have SMPI's settings. */
  smpi_init_options();
  simgrid_load_platform(arguments[1]);
  sg_host_t* hosts = sg_host_list();
  for (size_t at = 0; at < sg_host_count(); at++)
    puts(sg_host_get_name(hosts[at]));
  return 0;
}
