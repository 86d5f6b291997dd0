// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Ticket;

/** A ticket that holds the low watermark back until it is used. */
final class WatermarkTicket implements Ticket {
  private final LowWatermark watermark;
  private final long heldAtEpochMillis;
  private final long begunAtEpochMillis;
  private final boolean admitted;
  private boolean used;

  /**
   * A ticket.
   *
   * @param heldAtEpochMillis what {@link LowWatermark#begin} gave
   * @param begunAtEpochMillis when the call began by the decision clock; not after the first, but
   *     before it when the clock was ahead once and has been set right
   * @param admitted false when the node is stopping: such a ticket holds nothing back
   */
  WatermarkTicket(
      LowWatermark watermark, long heldAtEpochMillis, long begunAtEpochMillis, boolean admitted) {
    this.watermark = watermark;
    this.heldAtEpochMillis = heldAtEpochMillis;
    this.begunAtEpochMillis = begunAtEpochMillis;
    this.admitted = admitted;
  }

  @Override
  public long begunAtEpochMillis() {
    return begunAtEpochMillis;
  }

  @Override
  public void abandon() {
    use();
    end();
  }

  boolean isOf(LowWatermark other) {
    return watermark == other;
  }

  boolean isAdmitted() {
    return admitted;
  }

  void use() {
    if (used) {
      throw new IllegalStateException("a ticket is used once only");
    }
    used = true;
  }

  void end() {
    if (admitted) {
      watermark.end(heldAtEpochMillis);
    }
  }
}
