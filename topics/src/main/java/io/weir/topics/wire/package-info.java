// SPDX-License-Identifier: Apache-2.0
/**
 * Codecs, one per record type. The package depends on the model and a streaming JSON library.
 *
 * <p>Every object on the wire is flat JSON in UTF-8. Readers ignore unknown members, so that
 * members can be added. A reader never assumes a value for a missing member, unless its Javadoc
 * states the default.
 */
@NullMarked
package io.weir.topics.wire;

import org.jspecify.annotations.NullMarked;
