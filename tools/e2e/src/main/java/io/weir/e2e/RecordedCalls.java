// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.UnknownFieldSet;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Reads a batch of calls by the field numbers of {@code weir-calls.proto}, without Weir's codecs.
 * Returns only the members of a call that the tests compare.
 */
final class RecordedCalls {
  private static final List<String> DECIDED_BY =
      List.of(
          "unknown", "cache", "deny-cache", "lease", "local", "fail-open", "fail-closed", "none");

  private final List<String> texts = new ArrayList<>();
  private final UnknownFieldSet block;

  private RecordedCalls(UnknownFieldSet block) {
    this.block = block;
    block.getField(1).getLengthDelimitedList().forEach(text -> texts.add(text.toStringUtf8()));
  }

  /** Returns the calls of a batch as JSON. */
  static List<JsonNode> of(byte[] value) throws IOException {
    List<JsonNode> calls = new ArrayList<>();
    UnknownFieldSet batch = UnknownFieldSet.parseFrom(value);
    for (ByteString block : batch.getField(1).getLengthDelimitedList()) {
      new RecordedCalls(UnknownFieldSet.parseFrom(block)).addTo(calls);
    }
    return calls;
  }

  private void addTo(List<JsonNode> calls) throws IOException {
    List<Long> clients = numbers(4);
    List<Long> endpoints = numbers(5);
    List<Long> costs = numbers(10);
    List<Long> allowed = numbers(11);
    List<Long> decidedBy = numbers(12);
    List<Long> sincePrevious = numbers(14);
    List<String> ids = ids(clients.size());
    long decidedAt = 0;
    for (int i = 0; i < clients.size(); i++) {
      decidedAt += CodedInputStream.decodeZigZag64(entry(sincePrevious, i));
      calls.add(
          JsonNodeFactory.instance
              .objectNode()
              .put("id", ids.get(i))
              .put("client", text(entry(clients, i)))
              .put("endpoint", text(entry(endpoints, i)))
              .put("cost", entry(costs, i))
              .put("allowed", entry(allowed, i) != 0)
              .put("decided_by", DECIDED_BY.get((int) entry(decidedBy, i)))
              .put("decided_at_ms", decidedAt));
    }
  }

  private String text(long number) {
    return texts.get((int) number - 1);
  }

  private static long entry(List<Long> column, int index) {
    return column.isEmpty() ? 0 : column.get(index);
  }

  private List<Long> numbers(int field) throws IOException {
    List<Long> numbers = new ArrayList<>();
    for (ByteString packed : block.getField(field).getLengthDelimitedList()) {
      CodedInputStream in = packed.newCodedInput();
      while (!in.isAtEnd()) {
        numbers.add(in.readUInt64());
      }
    }
    return numbers;
  }

  private List<String> ids(int count) throws IOException {
    List<ByteString> chosen = block.getField(15).getLengthDelimitedList();
    List<String> ids = new ArrayList<>();
    CodedInputStream uuids =
        ByteString.copyFrom(block.getField(17).getLengthDelimitedList()).newCodedInput();
    for (int i = 0; i < count; i++) {
      ids.add(
          chosen.isEmpty() || chosen.get(i).isEmpty()
              ? new UUID(uuids.readFixed64(), uuids.readFixed64()).toString()
              : chosen.get(i).toStringUtf8());
    }
    return ids;
  }
}
