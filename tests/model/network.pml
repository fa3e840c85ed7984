/* Messages in flight, as a sorted array, so that a state does not depend on the order in which
 * they were sent. Messages overtake one another. Each is one number, whose layout the including
 * model defines. */

#ifndef QUEUE
#define QUEUE 8
#endif

int net[QUEUE];
byte on_way;  /* the number of messages */
hidden byte hole;
hidden int message;

/* Sends a message. */
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

/* Removes the message at that place. */
inline Remove(place) {
  hole = place;
  on_way--;
  do
  :: hole < on_way -> net[hole] = net[hole + 1]; hole++
  :: else -> break
  od;
  net[on_way] = 0
}
