// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

/** Takes meter events. Thread-safe. */
interface Stripe {
  /** Sends an event, and waits for its answer. */
  Answer send(MeterEvent event) throws InterruptedException;

  /** What became of an event. */
  sealed interface Answer permits Accepted, Refused, NoAnswer {}

  /**
   * Stripe has the event.
   *
   * @param before whether it had it before this call
   */
  record Accepted(boolean before) implements Answer {}

  /**
   * Stripe does not take this event.
   *
   * @param mayHave whether it may have taken it all the same, at a try before this answer
   */
  record Refused(String message, boolean mayHave) implements Answer {}

  /**
   * No further event can be sent.
   *
   * @param mayHave whether Stripe may have taken the event all the same
   */
  record NoAnswer(String message, boolean mayHave) implements Answer {}
}
