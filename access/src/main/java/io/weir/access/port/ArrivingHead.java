// SPDX-License-Identifier: Apache-2.0
package io.weir.access.port;

/**
 * Detects whether, and since when, the header fields of a request are arriving on a connection. An
 * instance compares the counters of the connection at two consecutive observations. A new instance
 * assumes a connection that has received no bytes. Not thread-safe.
 *
 * <p>Jetty publishes these counters, but not the state of its parser. If no request or response
 * began between two observations, and no body was arriving, the received bytes belong to incomplete
 * header fields. If bytes of header fields arrive together with the end of the previous request,
 * the instance detects them only when more bytes arrive. If no more bytes arrive, the idle timeout
 * closes the connection. While a request waits for its response, received bytes belong to the body
 * of the request. A whole body can arrive between two observations.
 */
final class ArrivingHead {
  private long bytesIn;
  private long requests;
  private long responses;
  private boolean bodyArrived;
  private boolean arriving;
  private long sinceNanos;

  /**
   * Records the counters of an observation.
   *
   * @param bytesIn number of bytes that the connection has received
   * @param requests number of requests whose header fields the connection has received completely
   * @param responses number of responses that the connection has begun to send
   * @param bodyArriving whether the body of a request is incomplete now
   * @param nowNanos the time of the observation, by {@link System#nanoTime}
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

  /** Returns whether header fields are arriving, and began to arrive before the given time. */
  boolean since(long nanos) {
    return arriving && sinceNanos - nanos < 0;
  }
}
