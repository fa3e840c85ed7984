/* The messages on their way, as a sorted array: a state does not depend on the order in which they were sent.
 * Messages overtake one another. Each is one number. The model that includes this file says what is in it. */

#ifndef QUEUE
#define QUEUE 8
#endif

int net[QUEUE];
byte on_way;  /* how many there are */
hidden byte hole;
hidden int message;

/* Puts a message on its way. */
inline Send(m) {
  message = m;
  assert(on_way < QUEUE);
  hole = on_way;
  do
  :: hole > 0 && net[hole - 1] > message -> net[hole] = net[hole - 1]; hole--
  :: else -> break
  od;
  net[hole] = message;
  on_way++
}

/* Takes out the message at that place. */
inline Remove(place) {
  hole = place;
  on_way--;
  do
  :: hole < on_way -> net[hole] = net[hole + 1]; hole++
  :: else -> break
  od;
  net[on_way] = 0
}
