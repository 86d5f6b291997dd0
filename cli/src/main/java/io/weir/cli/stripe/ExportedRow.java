// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cli.console.CommandFailedException;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;

/**
 * A row of the ledger, as JSON and decoded. Immutable.
 *
 * @param row the decoded row
 * @param json the members of the row, including members that this version does not know
 * @param place position of the row, for messages
 */
record ExportedRow(LedgerRow row, JsonNode json, String place) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * Reads a row.
   *
   * @throws MalformedRecordException if the record is not a ledger row
   * @throws CommandFailedException if the row's version is unknown, since skipping the row would
   *     make the bill wrong
   */
  static ExportedRow of(byte[] bytes, String place) throws MalformedRecordException {
    try {
      JsonNode json = JSON.readTree(bytes);
      long version = json.path("schema_version").asLong();
      if (version > LedgerRow.SCHEMA_VERSION_OF_CALENDARS) {
        throw new CommandFailedException(
            place + " is a row of schema_version " + version + ", which is unknown: update weir");
      }
      if (version < LedgerRow.SCHEMA_VERSION) {
        throw new MalformedRecordException("it has no schema_version");
      }
      return new ExportedRow(LedgerRowCodec.decode(bytes), json, place);
    } catch (JsonProcessingException notJson) {
      throw new MalformedRecordException(
          "not a ledger row: not JSON: " + notJson.getOriginalMessage(), notJson);
    } catch (IOException | MalformedRecordException notARow) {
      throw new MalformedRecordException("not a ledger row: " + notARow.getMessage(), notARow);
    }
  }
}
