// SPDX-License-Identifier: Apache-2.0
package io.weir.access.port;

/**
 * Detects whether and since when the header fields of a request are arriving on a connection, from
 * the counters of the connection at consecutive looks. A new instance is for a connection on which
 * nothing has arrived yet. Not thread-safe.
 *
 * <p>Jetty publishes these counters, but not the state of its parser. Bytes belong to incomplete
 * header fields if meanwhile no request or response began and no body was arriving. Such bytes may
 * arrive together with the end of the previous request. The instance then reports nothing until
 * more bytes arrive; a sender that stops there is idle and is closed as idle. While a request waits
 * for its response, bytes belong to its body, which may arrive completely between two looks.
 */
final class ArrivingHead {
  private long bytesIn;
  private long requests;
  private long responses;
  private boolean bodyArrived;
  private boolean arriving;
  private long sinceNanos;

  /**
   * Records the counters of a look.
   *
   * @param bytesIn bytes that the connection has received
   * @param requests requests whose header fields it has received
   * @param responses responses that it has begun to send
   * @param bodyArriving whether the body of a request is incomplete now
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
