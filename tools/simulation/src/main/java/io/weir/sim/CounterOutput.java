// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.count.CountOutput;
import io.weir.limits.correction.Correction;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.Replay;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.PartitionAccuracyCodec;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.SettlementVerdictCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The serialized output of a counter until its transaction commits. */
final class CounterOutput implements CountOutput {
  private final List<Output> outputs = new ArrayList<>();

  /** The output topics. */
  enum Target {
    LEDGER,
    STATES,
    CORRECTIONS,
    SETTLEMENTS,
    QUARANTINE
  }

  /**
   * An uncommitted record.
   *
   * @param key empty if the record has no key
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Output(Target target, String key, byte[] value, Map<String, byte[]> headers) {}

  /** Returns and removes the records written since the last call. */
  List<Output> drain() {
    List<Output> drained = List.copyOf(outputs);
    outputs.clear();
    return drained;
  }

  @Override
  public void ledger(LedgerRow row, long timestampEpochMillis) {
    outputs.add(new Output(Target.LEDGER, "", LedgerRowCodec.encode(row), Map.of()));
  }

  @Override
  public void state(UsageState state, long timestampEpochMillis) {
    add(
        Target.STATES,
        UsageStateCodec.key(state),
        UsageStateCodec.encode(state),
        UsageStateCodec.TYPE);
  }

  @Override
  public void progress(PartitionProgress progress, long timestampEpochMillis) {
    add(
        Target.STATES,
        PartitionProgressCodec.key(progress.partition()),
        PartitionProgressCodec.encode(progress),
        PartitionProgressCodec.TYPE);
  }

  @Override
  public void accuracy(PartitionAccuracy accuracy, long timestampEpochMillis) {
    add(
        Target.STATES,
        PartitionAccuracyCodec.key(accuracy.partition()),
        PartitionAccuracyCodec.encode(accuracy),
        PartitionAccuracyCodec.TYPE);
  }

  @Override
  public void correction(Correction correction, long timestampEpochMillis) {
    add(
        Target.CORRECTIONS,
        correction.bucket(),
        CorrectionCodec.encode(correction),
        CorrectionCodec.TYPE);
  }

  @Override
  public void restored(CacheRestored restored, long timestampEpochMillis) {
    add(
        Target.CORRECTIONS,
        CorrectionCodec.restoredKey(restored.partition()),
        CorrectionCodec.encode(restored),
        CorrectionCodec.RESTORED_TYPE);
  }

  @Override
  public void settled(SettlementVerdict verdict, long timestampEpochMillis) {
    add(
        Target.SETTLEMENTS,
        verdict.client(),
        SettlementVerdictCodec.encode(verdict),
        SettlementVerdictCodec.TYPE);
  }

  @Override
  public void quarantine(byte[] value, int line, String reason) {
    outputs.add(new Output(Target.QUARANTINE, reason, value, Map.of()));
  }

  @Override
  public void replayed(Replay replay, List<Integer> lines) {
    throw new IllegalStateException("the simulation does not support replays: " + replay);
  }

  private void add(Target target, String key, byte[] value, String type) {
    outputs.add(
        new Output(
            target,
            key,
            value,
            Map.of(BatchHeaderCodec.TYPE_HEADER, type.getBytes(StandardCharsets.UTF_8))));
  }
}
