// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

final class AdmissionTest {
  private static final long INTERVAL = QueueDelayShedder.INTERVAL_NANOS;

  private long now;
  private double random = 0.5;

  @Test
  void ask_maxCallsUnderWay_isRefusedUntilOneEnds() {
    Admission admission = new Admission(2, 2, null, null, () -> now, () -> random);

    assertNull(admission.tryAdmit(Admission.Kind.CALL));
    assertNull(admission.tryAdmit(Admission.Kind.CALL));
    assertEquals(HttpStatistics.Shed.CALLS_UNDER_WAY, admission.tryAdmit(Admission.Kind.CALL));
    assertEquals(2, admission.underWay());

    admission.end(Admission.Kind.CALL, now);
    assertNull(admission.tryAdmit(Admission.Kind.CALL));
  }

  @Test
  void ask_callsWaitLong_refusesTheShareToBeShed() {
    Admission admission =
        new Admission(1_000, 1_000, null, new QueueDelayShedder(1, 0), () -> now, () -> random);
    assertNull(admission.tryAdmit(Admission.Kind.CALL));
    long unused = admission.queue();
    for (int i = 0; i < 50; i++) {
      now += INTERVAL;
      assertEquals(i > 0, admission.share() > 0);
    }

    assertEquals(QueueDelayShedder.MAX_SHARE, admission.share());
    assertEquals(HttpStatistics.Shed.QUEUE_DELAY, admission.tryAdmit(Admission.Kind.CALL));
    random = 0.99;
    assertNull(admission.tryAdmit(Admission.Kind.CALL));
    assertEquals(2, admission.underWay());
  }

  @Test
  void ask_maxOfTheKind_isRefusedUntilOneEnds_andTakesNoOtherPlace() {
    Admission admission = new Admission(1_000, 65, null, null, () -> now, () -> random);
    for (int i = 0; i < 64; i++) {
      assertNull(admission.tryAdmit(Admission.Kind.BATCH));
    }
    assertEquals(HttpStatistics.Shed.BATCHES, admission.tryAdmit(Admission.Kind.BATCH));
    assertNull(admission.tryAdmit(Admission.Kind.CALL_ON_THREAD));
    assertEquals(
        HttpStatistics.Shed.CALLS_UNDER_WAY, admission.tryAdmit(Admission.Kind.CALL_ON_THREAD));
    assertNull(admission.tryAdmit(Admission.Kind.CALL));
    assertEquals(66, admission.underWay());

    admission.end(Admission.Kind.BATCH, now);
    assertNull(admission.tryAdmit(Admission.Kind.CALL_ON_THREAD));
    assertEquals(HttpStatistics.Shed.CALLS_UNDER_WAY, admission.tryAdmit(Admission.Kind.BATCH));
    admission.end(Admission.Kind.CALL_ON_THREAD, now);
    assertNull(admission.tryAdmit(Admission.Kind.BATCH));
  }

  @Test
  void ask_maxScrapes_isRefusedUntilOneEnds_andIsNoCall() {
    Admission admission = new Admission(1, 1, null, null, () -> now, () -> random);
    for (int i = 0; i < 4; i++) {
      assertNull(admission.tryAdmit(Admission.Kind.SCRAPE));
    }
    assertEquals(HttpStatistics.Shed.SCRAPES, admission.tryAdmit(Admission.Kind.SCRAPE));
    assertNull(admission.tryAdmit(Admission.Kind.CALL));

    admission.end(Admission.Kind.SCRAPE, now);
    assertNull(admission.tryAdmit(Admission.Kind.SCRAPE));
    assertEquals(1, admission.underWay());
  }

  /** A place of its kind would otherwise be lost with each request that is shed. */
  @Test
  void ask_maxCallsUnderWay_refusedRequestsKeepNoPlaceOfTheirKind() {
    AdaptiveBound bound = new AdaptiveBound(100);
    Admission admission = new Admission(1, 1, bound, null, () -> now, () -> random);
    assertNull(admission.tryAdmit(Admission.Kind.CALL));
    for (Admission.Kind kind :
        List.of(Admission.Kind.BATCH, Admission.Kind.CALL_ON_THREAD, Admission.Kind.CALL)) {
      for (int i = 0; i < 200; i++) {
        assertEquals(HttpStatistics.Shed.CALLS_UNDER_WAY, admission.tryAdmit(kind));
      }
    }

    admission.end(Admission.Kind.CALL, now);
    for (Admission.Kind kind :
        List.of(Admission.Kind.BATCH, Admission.Kind.CALL_ON_THREAD, Admission.Kind.CALL)) {
      assertNull(admission.tryAdmit(kind));
      admission.end(kind, now);
    }
    assertEquals(0, admission.underWay());
  }

  @Test
  void maxCallsUnderWay_belowOne_isRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () -> new Admission(0, 1, null, null, () -> now, () -> random));
  }
}
