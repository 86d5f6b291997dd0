// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A row of the ledger, as it is written and as it is read. Immutable.
 *
 * @param row the row
 * @param json its members, also those that this version does not know
 * @param place where it stands, for messages
 */
record ExportedRow(LedgerRow row, JsonNode json, String place) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * Reads a row.
   *
   * @throws NoRowException if the record is not a ledger row
   * @throws ExportFailedException if its version is unknown: skipping it would make the bill wrong
   */
  static ExportedRow of(byte[] bytes, String place) throws ExportFailedException, NoRowException {
    try {
      JsonNode json = JSON.readTree(bytes);
      long version = json.path("schema_version").asLong();
      if (version > LedgerRow.SCHEMA_VERSION_OF_CALENDARS) {
        throw new ExportFailedException(
            place + " is a row of schema_version " + version + ", which is not known: update weir");
      }
      if (version < LedgerRow.SCHEMA_VERSION) {
        throw new NoRowException("no row of the ledger: it has no schema_version", null);
      }
      return new ExportedRow(LedgerRowCodec.decode(bytes), json, place);
    } catch (JsonProcessingException notJson) {
      throw new NoRowException(
          "no row of the ledger: no JSON: " + notJson.getOriginalMessage(), notJson);
    } catch (IOException | MalformedRecordException notARow) {
      throw new NoRowException("no row of the ledger: " + notARow.getMessage(), notARow);
    }
  }

  /** Thrown when a record is no row of the ledger. */
  static final class NoRowException extends Exception {
    private static final long serialVersionUID = 1L;

    NoRowException(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }
}
