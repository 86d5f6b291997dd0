// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

final class AdmissionTest {
  private static final long INTERVAL = QueueDelayShedder.INTERVAL_NANOS;

  private long now;
  private double random = 0.5;

  @Test
  void ask_maxCallsUnderWay_isRefusedUntilOneEnds() {
    Admission admission = new Admission(2, null, null, () -> now, () -> random);

    assertNull(admission.tryAdmit());
    assertNull(admission.tryAdmit());
    assertEquals(HttpStatistics.Shed.CALLS_UNDER_WAY, admission.tryAdmit());
    assertEquals(2, admission.underWay());

    admission.end();
    assertNull(admission.tryAdmit());
  }

  @Test
  void ask_callsWaitLong_refusesTheShareToBeShed() {
    Admission admission =
        new Admission(1_000, null, new QueueDelayShedder(1, 0), () -> now, () -> random);
    assertNull(admission.tryAdmit());
    long unused = admission.queue();
    for (int i = 0; i < 50; i++) {
      now += INTERVAL;
      assertEquals(i > 0, admission.share() > 0);
    }

    assertEquals(QueueDelayShedder.MAX_SHARE, admission.share());
    assertEquals(HttpStatistics.Shed.QUEUE_DELAY, admission.tryAdmit());
    random = 0.99;
    assertNull(admission.tryAdmit());
    assertEquals(2, admission.underWay());
  }

  @Test
  void maxCallsUnderWay_belowOne_isRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () -> new Admission(0, null, null, () -> now, () -> random));
  }
}
