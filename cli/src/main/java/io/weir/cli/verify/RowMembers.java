// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.wire.LedgerRowCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Compares the members of a row with the values that follow from its other members: record ids,
 * unit, scale, length of the window, number of calls, billing month. A member that this type of row
 * does not have is also a fault. Stateless and thread-safe.
 */
final class RowMembers {
  private static final JsonFactory JSON = new JsonFactory();

  private RowMembers() {}

  /**
   * Returns the faults in the members of a row, each as the end of a sentence.
   *
   * @param bytes the row as stored in the ledger
   * @param row the same row, decoded
   */
  static List<String> faults(byte[] bytes, LedgerRow row) {
    Map<String, String> found = members(bytes);
    Map<String, String> expected = members(LedgerRowCodec.encode(row));
    List<String> faults = new ArrayList<>();
    found.forEach(
        (member, value) -> {
          String right = expected.get(member);
          if (!Objects.equals(value, right)) {
            faults.add(
                "has "
                    + member
                    + " "
                    + value
                    + (right == null ? ", which this row must not have" : " instead of " + right));
          }
        });
    expected.forEach(
        (member, value) -> {
          if (!found.containsKey(member)) {
            faults.add("has no " + member + "; expected is " + value + "");
          }
        });
    return faults;
  }

  /** Returns the members as in the record; strings keep their quotation marks. */
  private static Map<String, String> members(byte[] bytes) {
    Map<String, String> members = new LinkedHashMap<>();
    try (JsonParser json = JSON.createParser(bytes)) {
      json.nextToken();
      String name;
      while ((name = json.nextFieldName()) != null) {
        boolean isText = json.nextToken() == JsonToken.VALUE_STRING;
        members.put(name, isText ? '"' + json.getText() + '"' : json.getText());
        json.skipChildren();
      }
    } catch (IOException notReadable) {
      throw new UncheckedIOException("the row was decoded before", notReadable);
    }
    return members;
  }
}
