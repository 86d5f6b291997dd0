// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.ByteStore;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.State;
import io.weir.topics.model.UsagePosition;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Every ingest journal of which something is awaited in one partition, and what they promise
 * together. Judged by the promises in the partition and the broker's time stamps alone, so that a
 * replay judges alike. Not safe for threads.
 *
 * <p>A journal is <em>departed</em> when its node has said that it holds nothing more,
 * <em>lost</em> when a newer journal of the same node appeared without that, <em>silent</em> when
 * its promise lags behind the newest one by more than the hold, else <em>live</em>. The watermark
 * is the least promise of the live ones.
 *
 * <p>Memory and the work per record follow the journals that may still speak: a departed one
 * without a hole leaves for {@link DepartedNodes} an hour later. Should there be more than {@link
 * #MAX_TRACKS} others, the one that was silent for longest leaves too, and what it may hide stays a
 * {@link PossibleGaps doubt}; it is known again when it speaks. No record is refused for want of
 * room.
 */
final class NodeWatermarks {
  /** Most journals awaited in a partition; bounds the progress record and the work per batch. */
  static final int MAX_TRACKS = 1_000;

  /** For so long a departed journal is still told of: positions of its calls are asked for. */
  static final long TOLD_AFTER_DEPARTURE_MILLIS = 3_600_000L;

  /** A journal is forgotten this long after calls of it would be refused for their age. */
  private static final long FORGET_AFTER_MILLIS = 24 * 3_600_000L;

  private static final byte[] FIRST_KEY = {'n'};
  private static final byte[] BEHIND_LAST_KEY = {'o'};

  private final CountSettings settings;
  private final ByteStore store;
  private final DepartedNodes left;
  private final PossibleGaps hidden;
  private final Map<Id, NodeTrack> tracks = new HashMap<>();
  private final Map<String, Id> newestOfNode = new HashMap<>();
  private long nextTidyAtMillis;

  private record Id(String node, long epoch) {}

  NodeWatermarks(CountSettings settings, ByteStore store) {
    this.settings = settings;
    this.store = store;
    this.left = new DepartedNodes(store);
    this.hidden = new PossibleGaps(store);
    for (ByteStore.Entry entry : store.scan(FIRST_KEY, BEHIND_LAST_KEY, Integer.MAX_VALUE)) {
      remember(NodeTrackBytes.decode(entry.value()));
    }
  }

  /** What is known of the lines of a batch. */
  NodeTrack.Verdict judge(BatchHeader header) {
    NodeTrack track = find(header);
    return track == null ? NodeTrack.Verdict.NEW : track.judge(header);
  }

  /** What is known of one line of a batch. */
  NodeTrack.Verdict judge(BatchHeader header, long line) {
    NodeTrack track = find(header);
    return track == null ? NodeTrack.Verdict.NEW : track.judge(line);
  }

  /** What is known of a line of this partition; a journal that was let go of stays so. */
  NodeTrack.Verdict judge(UsagePosition line) {
    NodeTrack track = tracks.get(new Id(line.node(), line.nodeEpoch()));
    NodeTrack known = track == null ? left.find(line.node(), line.nodeEpoch()) : track;
    return known == null ? NodeTrack.Verdict.NEW : known.judge(line.line());
  }

  private @Nullable NodeTrack find(BatchHeader header) {
    NodeTrack track = tracks.get(new Id(header.node(), header.nodeEpoch()));
    if (track == null) {
      track = left.remove(header.node(), header.nodeEpoch());
      if (track != null) {
        keep(track);
      }
    }
    return track;
  }

  /**
   * Notes a heartbeat, or a batch with a line that was judged new. A promise is never believed
   * beyond the broker's clock: that promises less than the node did, and so is safe, and a node
   * whose clock is wrong cannot close a window before its time.
   *
   * @param mayHaveBegunBefore whether records of the journal may have been gone before the
   *     partition was first read, so that its first batch seen need not be its first
   * @return the greatest promise the journal has made
   */
  long note(BatchHeader header, long atEpochMillis, boolean mayHaveBegunBefore) {
    long promise = Math.min(header.lowWatermarkEpochMillis(), atEpochMillis);
    NodeTrack track = find(header);
    if (track == null) {
      long base = mayHaveBegunBefore ? header.linesBefore() : header.linesBeforeEpoch();
      track = NodeTrack.first(header, promise, base, atEpochMillis);
    }
    NodeTrack next =
        header.isHeartbeat()
            ? track.withHeartbeat(header, promise, atEpochMillis)
            : track.withBatch(header, promise, atEpochMillis);
    keep(next);
    tidy(next, atEpochMillis);
    return next.newestPromise();
  }

  private void keep(NodeTrack track) {
    remember(track);
    store.put(key(track), NodeTrackBytes.encode(track));
  }

  private void remember(NodeTrack track) {
    Id id = new Id(track.node(), track.epoch());
    tracks.put(id, track);
    newestOfNode.merge(
        track.node(), id, (one, other) -> one.epoch() >= other.epoch() ? one : other);
  }

  /** Lets go of what is not awaited any more: once an hour, and when there are too many. */
  private void tidy(NodeTrack spoken, long atEpochMillis) {
    if (atEpochMillis >= nextTidyAtMillis) {
      nextTidyAtMillis = atEpochMillis + TOLD_AFTER_DEPARTURE_MILLIS;
      for (NodeTrack track : List.copyOf(tracks.values())) {
        if (!isSame(track, spoken) && isOver(track, atEpochMillis)) {
          letGo(track, atEpochMillis);
        }
      }
    }
    while (tracks.size() > MAX_TRACKS) {
      tracks.values().stream()
          .filter(track -> !isSame(track, spoken))
          .min(
              Comparator.comparing((NodeTrack track) -> !isIdle(track))
                  .thenComparingLong(NodeTrack::lastAtEpochMillis))
          .ifPresent(track -> letGo(track, atEpochMillis));
    }
  }

  private static boolean isSame(NodeTrack one, NodeTrack other) {
    return one.epoch() == other.epoch() && one.node().equals(other.node());
  }

  private boolean isOver(NodeTrack track, long atEpochMillis) {
    long age = atEpochMillis - track.lastAtEpochMillis();
    return isIdle(track) ? age >= TOLD_AFTER_DEPARTURE_MILLIS : age > forgetAfterMillis();
  }

  /** Whether nothing rests on a journal: it has departed, and no lost one before it needs it. */
  private boolean isIdle(NodeTrack track) {
    return track.isFinished()
        && tracks.values().stream()
            .noneMatch(
                other ->
                    other.node().equals(track.node())
                        && other.epoch() < track.epoch()
                        && !other.departed());
  }

  private long forgetAfterMillis() {
    return settings.latenessMillis() + FORGET_AFTER_MILLIS;
  }

  private void letGo(NodeTrack track, long atEpochMillis) {
    Id id = new Id(track.node(), track.epoch());
    long expiresAt = track.lastAtEpochMillis() + forgetAfterMillis();
    if (expiresAt > atEpochMillis) {
      for (Interval doubt : doubts(track, Long.MAX_VALUE)) {
        hidden.add(doubt, expiresAt);
      }
      left.add(track, atEpochMillis - forgetAfterMillis());
    }
    tracks.remove(id);
    newestOfNode.remove(id.node(), id);
    store.delete(key(track));
    hidden.expire(atEpochMillis);
  }

  /**
   * The least promise of the live journals; when none is live, the greatest that is believed.
   *
   * @param newestPromise the greatest promise any journal made
   */
  long watermark(long newestPromise) {
    long holdUntil = newestPromise - settings.maxHoldMillis();
    long least = Long.MAX_VALUE;
    long greatest = 0;
    for (NodeTrack track : tracks.values()) {
      long promise = track.promise(holdUntil);
      greatest = Math.max(greatest, promise);
      if (isAwaited(track) && promise >= holdUntil) {
        least = Math.min(least, promise);
      }
    }
    return least == Long.MAX_VALUE ? greatest : least;
  }

  /** The event times for which calls may be missing. */
  List<Interval> doubts(long newestPromise) {
    long holdUntil = newestPromise - settings.maxHoldMillis();
    List<Interval> doubts = new ArrayList<>(hidden.all());
    for (NodeTrack track : tracks.values()) {
      doubts.addAll(doubts(track, holdUntil));
    }
    return doubts;
  }

  private List<Interval> doubts(NodeTrack track, long holdUntil) {
    List<Interval> doubts = new ArrayList<>(track.holes());
    if (track.departed()) {
      return doubts;
    }
    if (successor(track) != null) {
      doubts.add(new Interval(track.newestPromise(), nextOpeningMillis(track)));
    } else if (track.promise(holdUntil) < holdUntil) {
      doubts.add(new Interval(track.promise(holdUntil), Long.MAX_VALUE));
    }
    return doubts;
  }

  /** What is published of the journals. */
  List<PartitionProgress.Node> nodes(long newestPromise) {
    long holdUntil = newestPromise - settings.maxHoldMillis();
    List<PartitionProgress.Node> nodes = new ArrayList<>(tracks.size());
    for (NodeTrack track : tracks.values()) {
      long promise = track.promise(holdUntil);
      nodes.add(
          new PartitionProgress.Node(
              track.node(),
              track.epoch(),
              track.lines(),
              track.missing(),
              promise,
              state(track, promise, holdUntil)));
    }
    return nodes;
  }

  private State state(NodeTrack track, long promise, long holdUntil) {
    if (track.departed()) {
      return State.DEPARTED;
    }
    if (successor(track) != null) {
      return State.LOST;
    }
    return promise < holdUntil ? State.SILENT : State.LIVE;
  }

  private boolean isAwaited(NodeTrack track) {
    return !track.departed() && successor(track) == null;
  }

  /** When the first epoch behind this one was heard of; only of one that has a successor. */
  private long nextOpeningMillis(NodeTrack track) {
    return tracks.values().stream()
        .filter(other -> other.node().equals(track.node()) && other.epoch() > track.epoch())
        .min(Comparator.comparingLong(NodeTrack::epoch))
        .map(NodeTrack::firstAtEpochMillis)
        .orElse(Long.MAX_VALUE);
  }

  private @Nullable NodeTrack successor(NodeTrack track) {
    Id newest = newestOfNode.get(track.node());
    return newest == null || newest.epoch() == track.epoch() ? null : tracks.get(newest);
  }

  private static byte[] key(NodeTrack track) {
    byte[] node = track.node().getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(9 + node.length)
        .put(FIRST_KEY)
        .putLong(track.epoch())
        .put(node)
        .array();
  }
}
