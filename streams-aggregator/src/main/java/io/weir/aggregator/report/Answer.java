// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import org.jspecify.annotations.Nullable;

/**
 * The complete response to a request.
 *
 * @param status HTTP status
 * @param mediaType media type of the body
 * @param body the body
 * @param position position up to which the report includes calls; null if this is not a report
 * @param nextPage cursor of the next page; null if there is none
 */
@SuppressWarnings("ArrayRecordComponent") // arrays are never compared or changed
record Answer(
    int status,
    String mediaType,
    byte[] body,
    @Nullable String position,
    @Nullable String nextPage) {
  static final String JSON = "application/json";
  static final String CSV = "text/csv";
  static final String NDJSON = "application/x-ndjson";

  static Answer json(int status, Object value) {
    return new Answer(status, JSON, ReportFormats.json(value), null, null);
  }
}
