// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

/** A receiver of meter events. Thread-safe. */
interface Stripe {
  /** Sends an event, and waits for the result. */
  Answer send(MeterEvent event) throws InterruptedException;

  sealed interface Answer permits Accepted, Refused, NoAnswer {}

  /**
   * Stripe has the event.
   *
   * @param before whether Stripe had the event before this call
   */
  record Accepted(boolean before) implements Answer {}

  /**
   * Stripe refuses this event.
   *
   * @param mayHave whether Stripe may have accepted the event at an earlier attempt
   */
  record Refused(String message, boolean mayHave) implements Answer {}

  /**
   * No further event can be sent.
   *
   * @param mayHave whether Stripe may still have accepted the event
   */
  record NoAnswer(String message, boolean mayHave) implements Answer {}
}
