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
import org.jspecify.annotations.Nullable;

/**
 * A row of the ledger, as JSON and decoded. Immutable.
 *
 * @param row the decoded row
 * @param json its members, including those unknown to this version
 * @param place its position, for messages
 */
record ExportedRow(LedgerRow row, JsonNode json, String place) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * Reads a row.
   *
   * @throws NoRowException if the record is not a ledger row
   * @throws CommandFailedException if its version is unknown: skipping it would make the bill wrong
   */
  static ExportedRow of(byte[] bytes, String place) throws NoRowException {
    try {
      JsonNode json = JSON.readTree(bytes);
      long version = json.path("schema_version").asLong();
      if (version > LedgerRow.SCHEMA_VERSION_OF_CALENDARS) {
        throw new CommandFailedException(
            place + " is a row of schema_version " + version + ", which is unknown: update weir");
      }
      if (version < LedgerRow.SCHEMA_VERSION) {
        throw new NoRowException("not a ledger row: it has no schema_version", null);
      }
      return new ExportedRow(LedgerRowCodec.decode(bytes), json, place);
    } catch (JsonProcessingException notJson) {
      throw new NoRowException(
          "not a ledger row: not JSON: " + notJson.getOriginalMessage(), notJson);
    } catch (IOException | MalformedRecordException notARow) {
      throw new NoRowException("not a ledger row: " + notARow.getMessage(), notARow);
    }
  }

  /** Thrown when a record is not a ledger row. */
  static final class NoRowException extends Exception {
    private static final long serialVersionUID = 1L;

    NoRowException(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }
}
