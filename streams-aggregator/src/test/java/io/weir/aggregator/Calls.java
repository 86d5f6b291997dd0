// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.DecidedBy;
import java.util.List;

/** Calls and batches for tests. */
public final class Calls {
  private Calls() {}

  /** An allowed call of the default meter with an id of the server's. */
  public static CallEvent allowed(String id, String client, long cost, long decidedAtEpochMillis) {
    return call(id, false, client, "GET /items", cost, true, decidedAtEpochMillis);
  }

  /** A denied call of the default meter with an id of the server's. */
  public static CallEvent denied(String id, String client, long cost, long decidedAtEpochMillis) {
    return call(id, false, client, "GET /items", cost, false, decidedAtEpochMillis);
  }

  /** A denied call of an endpoint. */
  public static CallEvent denied(
      String id, String client, long cost, long decidedAtEpochMillis, String endpoint) {
    return call(id, false, client, endpoint, cost, false, decidedAtEpochMillis);
  }

  /** Any call of the default meter. */
  public static CallEvent call(
      String id,
      boolean idFromCaller,
      String client,
      String endpoint,
      long cost,
      boolean allowed,
      long decidedAtEpochMillis) {
    return new CallEvent(
        id,
        idFromCaller,
        client,
        endpoint,
        CallEvent.DEFAULT_METER,
        cost,
        allowed,
        DecidedBy.CACHE,
        null,
        1,
        decidedAtEpochMillis,
        null,
        List.of());
  }

  /** The settlement of a call, a second after its decision. */
  public static CallEvent settled(CallEvent call, long actualCost) {
    return call.settledAt(new CallSettlement(actualCost, call.decidedAtEpochMillis() + 1_000));
  }

  /** The value of a batch. */
  public static byte[] value(List<CallEvent> calls) {
    return CallBatchWriter.encode(calls);
  }

  /** The header of a batch. */
  public static BatchHeader batch(
      String node, long sequence, int count, long lowWatermarkEpochMillis, long linesBefore) {
    return new BatchHeader(node, 1, sequence, count, lowWatermarkEpochMillis, linesBefore, false);
  }

  /** The header of a heartbeat behind so many batches, each of a line at least. */
  public static BatchHeader heartbeat(String node, long sequence, long lowWatermarkEpochMillis) {
    return new BatchHeader(node, 1, sequence, 0, lowWatermarkEpochMillis, sequence, false);
  }

  /** A client of a partition: the given name, with a number behind it. */
  public static String clientOf(String name, int partition, int partitions) {
    for (int i = 0; ; i++) {
      String client = name + "-" + i;
      if (ClientPartitioner.partition(client, partitions) == partition) {
        return client;
      }
    }
  }
}
