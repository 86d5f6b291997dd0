// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Compares the codecs with the stored bytes of wire version 1 in this package's resources. A
 * difference requires a migration, because deployed readers would read the new bytes.
 */
final class StoredBytesTest {
  private static final UsageKey KEY = new UsageKey("acme/ü", "calls", "GET /v1/items");
  private static final UsageWindow WINDOW = new UsageWindow(1_763_690_400_000L, 1_763_691_300_000L);
  private static final UsageCount COUNT =
      new UsageCount(10_432, 10_432, 57, 3, 2, 0, 10_489, 8_000, 8_812, -2L, 7);

  @Test
  void settlementVerdict_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    UsagePosition at = new UsagePosition(3, "node-b", 1, 9);
    agrees(
        "settlement-stands.json",
        new SettlementVerdict(at, "acme/ü", "7f1c", Outcome.STANDS, new Standing(12, at), null));
    agrees(
        "settlement-before.json",
        new SettlementVerdict(
            at,
            "acme/ü",
            "7f1c",
            Outcome.SETTLED_BEFORE,
            new Standing(3, new UsagePosition(3, "node-a", 1, 58)),
            null));
    agrees(
        "settlement-refused.json",
        new SettlementVerdict(at, "acme/ü", "7f1c", Outcome.REFUSED, null, "was not counted"));
  }

  private static void agrees(String name, SettlementVerdict verdict) throws Exception {
    byte[] bytes = SettlementVerdictCodec.encode(verdict);

    assertEquals(stored(name), text(bytes));
    assertEquals(verdict, SettlementVerdictCodec.decode(bytes));
  }

  @Test
  void finalRow_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    agrees(
        "ledger-final.json",
        new UsageRow(
            KEY,
            WINDOW,
            UsageRow.Type.FINAL,
            1,
            null,
            null,
            COUNT,
            10_432,
            3,
            1_763_691_300_000L,
            true,
            1_763_691_900_000L));
  }

  @Test
  void adjustmentRow_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    UsageCount late = new UsageCount(-4, 1, 0, 0, 0, 1, 1, 9_000, 9_000, 5, 7);
    agrees(
        "ledger-adjustment.json",
        new UsageRow(
            KEY,
            WINDOW,
            UsageRow.Type.ADJUSTMENT,
            2,
            UsageRow.recordId(KEY, WINDOW, 1),
            UsageRow.Reason.LATE,
            late,
            10_428,
            3,
            1_763_691_300_000L,
            false,
            1_763_691_900_000L));
  }

  @Test
  void adjustmentRowOfOthers_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    UsageKey others = UsageKey.others("acme/ü", "calls");
    agrees(
        "ledger-adjustment-others.json",
        new UsageRow(
            others,
            WINDOW,
            UsageRow.Type.ADJUSTMENT,
            2,
            UsageRow.recordId(others, WINDOW, 1),
            UsageRow.Reason.LATE,
            new UsageCount(-4, 1, 0, 0, 0, 1, 1, 9_000, 9_000, 5, 7),
            10_428,
            3,
            1_763_691_300_000L,
            false,
            1_763_691_900_000L));
  }

  @Test
  void usageStateOfOthers_hasAKeyThatNoEndpointHas() throws Exception {
    UsageKey others = UsageKey.others("acme/ü", "calls");
    UsageState state = new UsageState(others, WINDOW, UsageState.Status.ADJUSTED, 2, COUNT, true);

    byte[] bytes = UsageStateCodec.encode(state);

    assertEquals(stored("usage-state-others.json"), text(bytes));
    assertEquals(state, UsageStateCodec.decode(bytes));
    assertEquals(
        new UsageStateCodec.Figures(state.count().quantity(), state.count().callsDenied()),
        UsageStateCodec.decodeFigures(bytes));
    assertEquals("acme%2F%C3%BC/calls/@others/001763690400000", UsageStateCodec.key(state));
    assertEquals(
        "acme%2F%C3%BC/calls/%40others/",
        UsageStateCodec.prefix(new UsageKey("acme/ü", "calls", "@others")));
  }

  @Test
  void othersUnderAnotherName_areRefused() throws Exception {
    String renamed = stored("usage-state-others.json").replace("\"other\"", "\"GET /v1/items\"");

    MalformedRecordException refused =
        assertThrows(
            MalformedRecordException.class,
            () -> UsageStateCodec.decode(renamed.getBytes(StandardCharsets.UTF_8)));

    assertTrue(String.valueOf(refused.getMessage()).contains("GET /v1/items"));
  }

  @Test
  void closeRow_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    agrees(
        "ledger-close.json",
        new CloseRow(3, 1_763_691_300_000L, 12, 10_432, true, 1_763_691_900_000L));
  }

  private static void agrees(String name, LedgerRow row) throws Exception {
    byte[] bytes = LedgerRowCodec.encode(row);

    assertEquals(stored(name), text(bytes));
    assertEquals(row, LedgerRowCodec.decode(bytes));
  }

  @Test
  void usageState_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    UsageState state = new UsageState(KEY, WINDOW, UsageState.Status.ADJUSTED, 2, COUNT, true);

    byte[] bytes = UsageStateCodec.encode(state);

    assertEquals(stored("usage-state.json"), text(bytes));
    assertEquals(state, UsageStateCodec.decode(bytes));
    assertEquals(
        "acme%2F%C3%BC/calls/GET%20%2Fv1%2Fitems/001763690400000", UsageStateCodec.key(state));
  }

  @Test
  void progress_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    PartitionProgress progress =
        new PartitionProgress(
            3,
            8_812,
            1_763_691_000_000L,
            1_763_690_400_000L,
            1_763_691_000_500L,
            new PartitionProgress.Counters(10, 6, 2, 1, 1),
            1,
            0,
            List.of(
                new PartitionProgress.Node(
                    "node-a",
                    1_763_690_000_000L,
                    57,
                    0,
                    1_763_691_000_000L,
                    PartitionProgress.State.LIVE)));

    byte[] bytes = PartitionProgressCodec.encode(progress);

    assertEquals(stored("progress.json"), text(bytes));
    assertEquals(progress, PartitionProgressCodec.decode(bytes));
    assertEquals("@progress/00003", PartitionProgressCodec.key(3));
    PartitionProgress conflicting =
        new PartitionProgress(3, 8_812, 0, 0, 0, progress.counters(), 1, 7, progress.nodes());
    byte[] withConflicts = PartitionProgressCodec.encode(conflicting);
    assertTrue(text(withConflicts).contains(",\"period_conflicts\":7,"), text(withConflicts));
    assertEquals(conflicting, PartitionProgressCodec.decode(withConflicts));
  }

  @Test
  void progressWithOtherRows_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    PartitionProgress progress =
        PartitionProgressCodec.decode(stored("progress.json").getBytes(StandardCharsets.UTF_8));
    PartitionProgress withOthers =
        new PartitionProgress(
            progress.partition(),
            progress.offset(),
            progress.watermarkEpochMillis(),
            progress.closedThroughEpochMillis(),
            progress.newestLowWatermarkEpochMillis(),
            progress.counters(),
            progress.idConflicts(),
            progress.periodConflicts(),
            4,
            1_000,
            progress.nodes(),
            List.of());

    byte[] bytes = PartitionProgressCodec.encode(withOthers);

    assertEquals(stored("progress-others.json"), text(bytes));
    assertEquals(withOthers, PartitionProgressCodec.decode(bytes));
  }

  @Test
  void correction_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    Correction correction =
        new Correction(
            "w1:{4:acme}:5:burst",
            new TokenBucketLimit(100, 100, 60_000_000),
            1_763_690_000_000_000L,
            3,
            9,
            1_763_690_406_600_000L,
            11,
            2,
            Correction.Cause.UNSTAMPED,
            1_763_690_401_234L,
            1_763_690_401_300L,
            1_763_690_401_234_000L);

    byte[] bytes = CorrectionCodec.encode(correction);

    assertEquals(stored("correction.json"), text(bytes));
    assertEquals(correction, CorrectionCodec.decode(bytes));
  }

  /**
   * During a rolling upgrade, nodes read corrections of an aggregator with the previous release.
   */
  @Test
  void correction_ofAnEarlierReleaseWithoutKnownThrough_isRead() throws Exception {
    String stored = stored("correction.json");
    String earlier = stored.replaceFirst("\"known_through_us\":\\d+,", "");
    assertNotEquals(stored, earlier);

    Correction read = CorrectionCodec.decode(earlier.getBytes(StandardCharsets.UTF_8));

    assertEquals(0, read.knownThroughEpochMicros());
  }

  @Test
  void restored_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    CacheRestored restored = new CacheRestored("g1", 3, 12, 57, 1_763_690_401_300L);

    byte[] bytes = CorrectionCodec.encode(restored);

    assertEquals(stored("restored.json"), text(bytes));
    assertEquals(restored, CorrectionCodec.decodeRestored(bytes));
    assertEquals("@restored/00003", CorrectionCodec.restoredKey(3));
  }

  @Test
  void cacheLoss_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    CacheLoss loss = new CacheLoss("g1", 1_763_690_401_234L);

    byte[] bytes = CacheLossCodec.encode(loss);

    assertEquals(stored("cache-loss.json"), text(bytes));
    assertEquals(loss, CacheLossCodec.decode(bytes));
  }

  @Test
  void accuracy_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    List<Long> delays =
        new ArrayList<>(Collections.nCopies(PartitionAccuracy.DELAY_BOUNDS_MILLIS.size() + 1, 0L));
    delays.set(2, 5L);
    delays.set(17, 1L);
    PartitionAccuracy accuracy =
        new PartitionAccuracy(
            3,
            1_763_690_401_300L,
            Map.of("burst", new PartitionAccuracy.Figures(100, 2, 1, 7, 9, 4)),
            Map.of(Correction.Cause.GAP, 6L),
            delays);

    byte[] bytes = PartitionAccuracyCodec.encode(accuracy);

    assertEquals(stored("accuracy.json"), text(bytes));
    assertEquals(accuracy, PartitionAccuracyCodec.decode(bytes));
    assertEquals("@accuracy/00003", PartitionAccuracyCodec.key(3));
  }

  @Test
  void batchHeader_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    BatchHeader header =
        new BatchHeader("node-a", 1_763_690_000_000L, 12, 5, 1_763_691_000_000L, 52, true);

    Map<String, byte[]> headers = BatchHeaderCodec.encode(header);

    StringBuilder lines = new StringBuilder();
    headers.forEach(
        (name, value) -> lines.append(name).append('=').append(text(value)).append('\n'));
    assertEquals(stored("batch-headers.txt"), lines.toString().strip());
    assertEquals(header, BatchHeaderCodec.decode(headers::get));
  }

  private static String stored(String name) throws IOException {
    try (InputStream in = StoredBytesTest.class.getResourceAsStream("v1/" + name)) {
      return in == null ? "no stored bytes " + name : text(in.readAllBytes()).strip();
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
