// SPDX-License-Identifier: Apache-2.0
/**
 * Codecs between records and bytes, one codec per record type. The package depends on the model and
 * a streaming JSON library. The package {@code calls} encodes the calls themselves.
 *
 * <p>Every value is JSON in UTF-8. Readers ignore unknown members, so a later version may add
 * members. A member is required unless the Javadoc of the codec states a default.
 */
@NullMarked
package io.weir.topics.wire;

import org.jspecify.annotations.NullMarked;
