#ifndef PL_SERVER_H
#define PL_SERVER_H

/* Answers the computer's questions about the model (pl_model.h) until it is told to leave or the line is gone. */
void pl_serve(void);

/* Sends a line of text to the computer. Not from an interrupt: an answer may be on its way. */
void pl_log(const char *text);

#endif
