// SPDX-License-Identifier: Apache-2.0
package io.weir.access.port;

/**
 * Tells whether the header fields of a request are arriving on a connection, and since when, from
 * what the connection has counted at one look after another. A new one is that of a connection on
 * which nothing has arrived yet. Not thread-safe.
 *
 * <p>Jetty publishes these counts, but not the state of its parser. Bytes that came while neither a
 * request began, nor a response, nor a body was arriving belong to a request whose header fields
 * are incomplete. Where that cannot be told, since such bytes came together with the end of the
 * request before them, nothing is arriving until more bytes come: a sender that stops there is idle
 * and is closed as one. While a request waits for its answer, bytes are those of its body, which
 * may have come as a whole between two looks.
 */
final class ArrivingHead {
  private long bytesIn;
  private long requests;
  private long responses;
  private boolean bodyArrived;
  private boolean arriving;
  private long sinceNanos;

  /**
   * Takes the counts of a look.
   *
   * @param bytesIn bytes that the connection has received
   * @param requests requests whose header fields it has received
   * @param responses responses that it has begun to send
   * @param bodyArriving whether the body of a request is incomplete at present
   * @param nowNanos the time of the look, by {@link System#nanoTime}
   */
  void look(long bytesIn, long requests, long responses, boolean bodyArriving, long nowNanos) {
    boolean another = requests != this.requests || responses != this.responses;
    boolean awaitsAnswer = requests > responses;
    if (another || awaitsAnswer || bodyArriving || bodyArrived) {
      arriving = false;
    } else if (bytesIn != this.bytesIn && !arriving) {
      arriving = true;
      sinceNanos = nowNanos;
    }
    this.bytesIn = bytesIn;
    this.requests = requests;
    this.responses = responses;
    bodyArrived = bodyArriving;
  }

  /** Returns whether header fields have been arriving since before a time. */
  boolean since(long nanos) {
    return arriving && sinceNanos - nanos < 0;
  }
}
