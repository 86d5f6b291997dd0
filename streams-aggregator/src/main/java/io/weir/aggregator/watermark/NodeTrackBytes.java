// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The keys of stored {@link NodeTrack}s, and the codec of their values, version 2. Stateless. */
final class NodeTrackBytes {
  private static final int VERSION = 2;

  private NodeTrackBytes() {}

  /** Returns the key of a track in a store. The key begins with {@code kind}. */
  static byte[] key(byte[] kind, String node, long epoch) {
    byte[] name = node.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(kind.length + Long.BYTES + name.length)
        .put(kind)
        .putLong(epoch)
        .put(name)
        .array();
  }

  static byte[] encode(NodeTrack track) {
    Packer value =
        new Packer()
            .integer(VERSION)
            .text(track.node())
            .integer(track.epoch())
            .integer(track.forgottenThrough())
            .integer(track.forgottenMissing())
            .integer(track.headLine())
            .integer(track.headLowWatermarkEpochMillis())
            .integer(track.headAtEpochMillis())
            .bool(track.departed())
            .integer(track.firstAtEpochMillis())
            .integer(track.lastAtEpochMillis())
            .integer(track.spans().size());
    for (Span span : track.spans()) {
      value
          .integer(span.first())
          .integer(span.last())
          .integer(span.lowWatermarkEpochMillis())
          .integer(span.revealedAtEpochMillis());
    }
    return value.toBytes();
  }

  static NodeTrack decode(byte[] bytes) {
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    String node = value.text();
    long epoch = value.integer();
    long forgottenThrough = value.integer();
    long forgottenMissing = value.integer();
    long headLine = value.integer();
    long headLowWatermark = value.integer();
    long headAt = value.integer();
    boolean departed = value.bool();
    long firstAt = value.integer();
    long lastAt = value.integer();
    int size = value.count();
    List<Span> spans = new ArrayList<>(size);
    for (int i = 0; i < size; i++) {
      spans.add(new Span(value.integer(), value.integer(), value.integer(), value.integer()));
    }
    return new NodeTrack(
        node,
        epoch,
        spans,
        forgottenThrough,
        forgottenMissing,
        headLine,
        headLowWatermark,
        headAt,
        departed,
        firstAt,
        lastAt);
  }
}
