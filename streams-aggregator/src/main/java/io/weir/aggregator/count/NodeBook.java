// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.State;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Every ingest journal that is known in one partition, and what they promise together. Judged by
 * the promises in the partition and the broker's time stamps alone, so that a replay judges alike.
 * Not safe for threads.
 *
 * <p>A journal is <em>departed</em> when its node stopped cleanly or a newer journal of the same
 * node appeared, <em>silent</em> when its promise lags behind the newest one by more than the hold,
 * else <em>live</em>. The watermark is the least promise of the live ones.
 */
final class NodeBook {
  /** Most journals known in a partition; bounds the progress record and the work per batch. */
  static final int MAX_TRACKS = 1_000;

  /** A journal is forgotten this long after calls of it would be refused for their age. */
  private static final long FORGET_AFTER_MILLIS = 24 * 3_600_000L;

  private static final byte[] FIRST_KEY = {'n'};
  private static final byte[] BEHIND_LAST_KEY = {'o'};

  private final CountSettings settings;
  private final ByteStore store;
  private final Map<Id, NodeTrack> tracks = new HashMap<>();
  private final Map<String, Id> newestOfNode = new HashMap<>();

  private record Id(String node, long epoch) {}

  NodeBook(CountSettings settings, ByteStore store) {
    this.settings = settings;
    this.store = store;
    for (ByteStore.Entry entry : store.scan(FIRST_KEY, BEHIND_LAST_KEY, MAX_TRACKS)) {
      remember(NodeTrackBytes.decode(entry.value()));
    }
  }

  NodeTrack.Verdict judge(BatchHeader header) {
    NodeTrack track = tracks.get(new Id(header.node(), header.nodeEpoch()));
    return track == null ? NodeTrack.Verdict.NEW : track.judge(header.batchSequence());
  }

  /** Whether a record of this journal can be taken: it is known, or there is room for it. */
  boolean hasRoomFor(BatchHeader header, long atEpochMillis) {
    if (tracks.containsKey(new Id(header.node(), header.nodeEpoch()))) {
      return true;
    }
    if (tracks.size() >= MAX_TRACKS) {
      forgetOld(atEpochMillis);
    }
    return tracks.size() < MAX_TRACKS;
  }

  /**
   * Notes a heartbeat, or a batch that was judged new. A promise is never believed beyond the
   * broker's clock: that promises less than the node did, and so is safe, and a node whose clock is
   * wrong cannot close a window before its time.
   *
   * @param beginsMidway whether the partition's first records were gone before it was first read,
   *     so that a journal's first batch seen need not be its first
   */
  void note(BatchHeader header, long atEpochMillis, boolean beginsMidway) {
    Id id = new Id(header.node(), header.nodeEpoch());
    long promise = Math.min(header.lowWatermarkEpochMillis(), atEpochMillis);
    NodeTrack track = tracks.get(id);
    if (track == null) {
      forgetOld(atEpochMillis);
      long base = header.batchSequence() - (header.isHeartbeat() ? 0 : 1);
      track = NodeTrack.first(header, promise, beginsMidway ? base : 0, atEpochMillis);
    }
    NodeTrack next =
        header.isHeartbeat()
            ? track.withHeartbeat(header, promise, atEpochMillis)
            : track.withBatch(header, promise, atEpochMillis);
    remember(next);
    store.put(key(id), NodeTrackBytes.encode(next));
  }

  private void remember(NodeTrack track) {
    Id id = new Id(track.node(), track.epoch());
    tracks.put(id, track);
    newestOfNode.merge(
        track.node(), id, (one, other) -> one.epoch() >= other.epoch() ? one : other);
  }

  private void forgetOld(long atEpochMillis) {
    long horizon = atEpochMillis - settings.latenessMillis() - FORGET_AFTER_MILLIS;
    List<Id> old = new ArrayList<>();
    tracks.forEach(
        (id, track) -> {
          if (track.lastAtEpochMillis() < horizon) {
            old.add(id);
          }
        });
    for (Id id : old) {
      tracks.remove(id);
      newestOfNode.remove(id.node(), id);
      store.delete(key(id));
    }
  }

  /** The greatest promise any journal made; 0 when none did. */
  long newestPromise() {
    long newest = 0;
    for (NodeTrack track : tracks.values()) {
      newest = Math.max(newest, track.newestPromise());
    }
    return newest;
  }

  /**
   * The least promise of the live journals; when none is live, the greatest that is believed.
   *
   * @param newestPromise see {@link #newestPromise}
   */
  long watermark(long newestPromise) {
    long holdUntil = newestPromise - settings.maxHoldMillis();
    long least = Long.MAX_VALUE;
    long greatest = 0;
    for (NodeTrack track : tracks.values()) {
      long promise = track.promise(holdUntil);
      greatest = Math.max(greatest, promise);
      if (!isDeparted(track) && promise >= holdUntil) {
        least = Math.min(least, promise);
      }
    }
    return least == Long.MAX_VALUE ? greatest : least;
  }

  /** The event times for which calls may be missing. */
  List<Interval> doubts(long newestPromise) {
    long holdUntil = newestPromise - settings.maxHoldMillis();
    List<Interval> doubts = new ArrayList<>();
    for (NodeTrack track : tracks.values()) {
      doubts.addAll(track.holes());
      NodeTrack successor = successor(track);
      if (track.departed()) {
        continue;
      }
      if (successor != null) {
        doubts.add(new Interval(track.newestPromise(), successor.firstAtEpochMillis()));
      } else if (track.promise(holdUntil) < holdUntil) {
        doubts.add(new Interval(track.promise(holdUntil), Long.MAX_VALUE));
      }
    }
    return doubts;
  }

  /** What is published of the journals. */
  List<PartitionProgress.Node> nodes(long newestPromise) {
    long holdUntil = newestPromise - settings.maxHoldMillis();
    List<PartitionProgress.Node> nodes = new ArrayList<>(tracks.size());
    for (NodeTrack track : tracks.values()) {
      long promise = track.promise(holdUntil);
      State state =
          isDeparted(track) ? State.DEPARTED : promise < holdUntil ? State.SILENT : State.LIVE;
      nodes.add(
          new PartitionProgress.Node(
              track.node(),
              track.epoch(),
              track.lines(),
              track.contiguous(),
              track.missing(),
              promise,
              state));
    }
    return nodes;
  }

  private boolean isDeparted(NodeTrack track) {
    return track.departed() || successor(track) != null;
  }

  private @Nullable NodeTrack successor(NodeTrack track) {
    Id newest = newestOfNode.get(track.node());
    return newest == null || newest.epoch() == track.epoch() ? null : tracks.get(newest);
  }

  private static byte[] key(Id id) {
    byte[] node = id.node().getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(9 + node.length)
        .put(FIRST_KEY)
        .putLong(id.epoch())
        .put(node)
        .array();
  }
}
