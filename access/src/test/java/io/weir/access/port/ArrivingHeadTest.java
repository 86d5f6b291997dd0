// SPDX-License-Identifier: Apache-2.0
package io.weir.access.port;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class ArrivingHeadTest {
  private final ArrivingHead head = new ArrivingHead();

  @Test
  void newConnection_withoutBytes_isIdle() {
    head.look(0, 0, 0, false, 100);
    head.look(0, 0, 0, false, 200);

    assertFalse(head.since(1_000));
  }

  @Test
  void firstHead_incomplete_countsFromTheFirstLook() {
    head.look(20, 0, 0, false, 100);
    head.look(20, 0, 0, false, 200);

    assertFalse(head.since(100));
    assertTrue(head.since(101));
  }

  @Test
  void head_arrivingByteByByte_countsFromItsFirstByte() {
    head.look(200, 1, 1, false, 100);
    head.look(201, 1, 1, false, 200);
    head.look(202, 1, 1, false, 300);

    assertTrue(head.since(201));
    assertFalse(head.since(200));
  }

  @Test
  void head_complete_noLongerArrives() {
    head.look(20, 0, 0, false, 100);
    head.look(200, 1, 0, false, 200);
    head.look(200, 1, 1, false, 300);
    head.look(200, 1, 1, false, 400);

    assertFalse(head.since(1_000));
  }

  @Test
  void body_arriving_isNotTakenForAHead() {
    head.look(200, 1, 0, true, 100);
    head.look(210, 1, 0, true, 200);
    head.look(300, 1, 0, false, 300);
    head.look(300, 1, 1, false, 400);

    assertFalse(head.since(1_000));
  }

  /** The interim response 100 counts as a response, so the two counters may differ. */
  @Test
  void head_after100Continue_isFound() {
    head.look(200, 1, 2, false, 100);
    head.look(210, 1, 2, false, 200);

    assertTrue(head.since(201));
  }

  @Test
  void request_answeredAfterAWait_isNotCutOff() {
    head.look(200, 1, 0, false, 100);
    head.look(201, 1, 0, false, 200);
    head.look(201, 1, 1, false, 300);

    assertFalse(head.since(1_000));
  }

  /** Regression: a request whose response came after the limit could be ended with 408. */
  @Test
  void request_bodyArrivedBetweenTwoLooks_isNotCutOffWhileAwaitingItsAnswer() {
    head.look(200, 1, 0, false, 100);
    head.look(300, 1, 0, false, 200);
    head.look(300, 1, 0, false, 300);

    assertFalse(head.since(1_000));
  }

  @Test
  void head_behindARequestThatWaited_isFound() {
    head.look(200, 1, 0, false, 100);
    head.look(300, 1, 0, false, 200);
    head.look(300, 1, 1, false, 300);
    head.look(301, 1, 1, false, 400);

    assertTrue(head.since(401));
  }

  @Test
  void since_clockOverflowsBetween_comparesCorrectly() {
    head.look(20, 0, 0, false, Long.MAX_VALUE);

    assertTrue(head.since(Long.MIN_VALUE));
    assertFalse(head.since(Long.MAX_VALUE));
  }
}
